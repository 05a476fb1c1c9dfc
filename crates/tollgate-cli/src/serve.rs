//! `tollgate serve`: what its arguments mean.

mod greeting;
mod rules;
mod settings;
mod shared;
mod typed;

use std::env;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use tokio::net::TcpListener;
use tollgate::{Limiter, Store};
use tollgate_rules::{RedisSettings, Tollgate, TrustedNetworks};
use tollgate_server::{Drained, Measured, Reloads, Server, Snapshots};

use self::rules::Rules;
pub(crate) use self::settings::Settings;
use self::typed::TypedStore;
use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::keeping::{self, Keeping};
use crate::output::say;
use crate::reload::{Follower, Reloader};
use crate::{logging, runtime, signals};

/// Serves until told to stop.
pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let store = TypedStore::of(args, env::var(typed::PASSWORD_VARIABLE).ok())?;
    let rules = Rules::of(args.config.as_deref())?;
    let settings = Settings::of(args, store, &rules.settings)?;
    logging::start(&args.log);
    Ok(runtime::run(serve(&settings, rules))?)
}

async fn serve(settings: &Settings, rules: Rules) -> Result<()> {
    // Before anybody can know that we run: who stops us at once is heard.
    let stop = signals::stop().context("cannot listen for signals")?;
    let address = settings.address;
    let listener = TcpListener::bind(address).await.map_err(|error| unbound(address, &error))?;
    match &settings.redis {
        None => serve_in_memory(settings, rules, listener, stop).await,
        Some(redis) => serve_shared(settings, redis, rules, listener, stop).await,
    }
}

/// With counters of this process alone.
async fn serve_in_memory(
    settings: &Settings,
    rules: Rules,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let (limiter, restored) = keeping::limiter(settings)?;
    let mut open = Open::new(settings, rules, limiter.clone(), "memory", listener)?;
    let mut keeping = None;
    // Only now that we listen: who can not start does not touch what another one keeps.
    if let Some(path) = &settings.snapshot {
        let snapshots = Snapshots::new();
        open.server = open.server.snapshots(&snapshots);
        let every = settings.snapshot_every;
        keeping = Some(Keeping::start(&limiter, path.clone(), every, &snapshots)?);
    }
    if let Some(restored) = restored {
        say(&format!("tollgate: {restored}\n"));
    }
    let drained = open.until(stop).await;
    // After the last request: what it took is kept.
    let saved = keeping.map(Keeping::finish).transpose();
    if let Ok(Some(saved)) = &saved {
        say(&format!("tollgate: {saved}\n"));
    }
    say(&greeting::farewell(drained, settings.shutdown_timeout));
    saved.map(drop)
}

/// With counters that nodes share.
async fn serve_shared(
    settings: &Settings,
    redis: &RedisSettings,
    rules: Rules,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let memory = keeping::memory_options(settings);
    let (store, reached) = shared::reach(redis, memory, rules.set.store_secret()).await?;
    let open = Open::new(settings, rules, Limiter::new(store), "shared", listener)?;
    say(&format!("tollgate: {reached}\n"));
    let drained = open.until(stop).await;
    say(&greeting::farewell(drained, settings.shutdown_timeout));
    Ok(())
}

/// A server that listens already, and what it is going to say.
struct Open<S> {
    server: Server<S>,
    listener: TcpListener,
    greeting: String,
}

impl<S: Measured> Open<S> {
    fn new(
        settings: &Settings,
        rules: Rules,
        limiter: Limiter<S>,
        store: &str,
        listener: TcpListener,
    ) -> Result<Self> {
        let address = listener.local_addr().unwrap_or(settings.address);
        let greeting = greeting::greeting(address, store, &rules, &settings.proxy_protocol);
        let reloads = Reloads::new();
        let gate = Arc::new(Tollgate::new(limiter, rules.set));
        if let Some((path, reading)) = rules.file {
            follow(Follower::new(Arc::clone(&gate), path, &reading, reloads.clone()))?;
        }
        let server = Server::new(gate)
            .shutdown_timeout(settings.shutdown_timeout)
            .proxy_protocol(TrustedNetworks::parse(&settings.proxy_protocol)?)
            .reloads(&reloads);
        Ok(Self { server, listener, greeting })
    }

    /// Serves until it is told to stop.
    async fn until(self, stop: impl Future<Output = ()>) -> Drained {
        say(&self.greeting);
        self.server.serve(self.listener, stop).await
    }
}

/// Follows a rule file until the program ends; SIGHUP reads it at once.
fn follow<S: Store>(follower: Follower<S>) -> Result<()> {
    let reloader = Reloader::start(follower)?;
    let hung_up = signals::on_hangup(move || reloader.reload());
    tokio::spawn(hung_up.context("cannot listen for signals")?);
    Ok(())
}

/// Why an address cannot be listened on, and what to do about it.
fn unbound(address: SocketAddr, error: &io::Error) -> anyhow::Error {
    let any_port = SocketAddr::new(address.ip(), 0);
    let (found, hint) = match error.kind() {
        ErrorKind::AddrInUse => (
            "address already in use".to_owned(),
            format!("stop what listens there, or use --http {any_port} for any free port"),
        ),
        ErrorKind::PermissionDenied => (
            "permission denied".to_owned(),
            "use a port from 1024 on, as in --http 127.0.0.1:7070".to_owned(),
        ),
        ErrorKind::AddrNotAvailable => (
            "this machine does not have that address".to_owned(),
            format!("use --http 0.0.0.0:{} for all it has", address.port()),
        ),
        _ => (error.to_string(), "see --help for what --http may be".to_owned()),
    };
    anyhow!("cannot listen on {address}: {found}\nhint: {hint}")
}

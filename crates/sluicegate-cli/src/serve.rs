//! `sluicegate serve`: what its arguments mean.

mod greeting;
mod recording;
mod rules;
mod settings;
mod shared;
mod typed;

use std::env;
use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use sluicegate::{Limiter, Store};
use sluicegate_rules::{RedisSettings, RuleLimiter, TrustedNetworks};
use sluicegate_server::{
    Addresses, BindError, Drained, Listeners, Measured, Protocol, Reloads, Server, Snapshots,
};

use self::recording::Recording;
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
    let store = TypedStore::of(args, |name| env::var(name).ok())?;
    let rules = Rules::of(args.config.as_deref())?;
    let settings = Settings::of(args, store, &rules.settings)?;
    logging::start(&args.log);
    Ok(runtime::run(serve(&settings, rules))?)
}

async fn serve(settings: &Settings, rules: Rules) -> Result<()> {
    // Before anybody can know that we run: who stops us at once is heard.
    let stop = signals::stop().context("cannot listen for signals")?;
    let listeners = settings.addresses.bind(settings.threads).map_err(|error| unbound(&error))?;
    match &settings.redis {
        None => serve_in_memory(settings, rules, listeners, stop).await,
        Some(redis) => serve_shared(settings, redis, rules, listeners, stop).await,
    }
}

/// With counters of this process alone.
async fn serve_in_memory(
    settings: &Settings,
    rules: Rules,
    listeners: Vec<Listeners>,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let (limiter, restored) = keeping::limiter(settings)?;
    let recording = Recording::start(settings, &bound(&listeners))?;
    let Some(recording) = recording else {
        let server = limiter.clone();
        return serve_and_keep(settings, rules, (server, limiter), restored, listeners, stop).await;
    };
    let server = recording.around(limiter.clone(), &rules.set);
    serve_and_keep(settings, rules, (server, limiter), restored, listeners, stop).await?;
    recording.finish()
}

/// Serves from one limiter, and keeps what the other counts, on which it stands.
async fn serve_and_keep<S: Measured>(
    settings: &Settings,
    rules: Rules,
    (server, limiter): (Limiter<S>, Limiter),
    restored: Option<String>,
    listeners: Vec<Listeners>,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let mut open = Open::new(settings, rules, server, "memory", listeners)?;
    let mut keeping = None;
    // Only now that we listen: who can not start does not touch what another one keeps.
    if let Some(path) = &settings.snapshot {
        let snapshots = Snapshots::new();
        open.server = open.server.snapshots(&snapshots);
        let every = settings.snapshot_every;
        keeping = Some(Keeping::start(&limiter, path.clone(), every, &snapshots)?);
    }
    if let Some(restored) = restored {
        say(&format!("sluicegate: {restored}\n"));
    }
    let drained = open.until(stop).await?;
    // After the last request: what it took is kept.
    let saved = keeping.map(Keeping::finish).transpose();
    if let Ok(Some(saved)) = &saved {
        say(&format!("sluicegate: {saved}\n"));
    }
    say(&greeting::farewell(drained, settings.shutdown_timeout));
    saved.map(drop)
}

/// With counters that nodes share.
async fn serve_shared(
    settings: &Settings,
    redis: &RedisSettings,
    rules: Rules,
    listeners: Vec<Listeners>,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let memory = keeping::memory_options(settings);
    let recording = Recording::start(settings, &bound(&listeners))?;
    let (store, reached) = shared::reach(redis, memory, rules.set.store_secret()).await?;
    let shared = Limiter::new(store);
    let limiter = shared.clone();
    let Some(recording) = recording else {
        let open = Open::new(settings, rules, limiter, "shared", listeners)?;
        open.until_stopped(settings, &reached, stop).await?;
        shared.store().deregister().await;
        return Ok(());
    };
    let limiter = recording.around(limiter, &rules.set);
    let open = Open::new(settings, rules, limiter, "shared", listeners)?;
    open.until_stopped(settings, &reached, stop).await?;
    shared.store().deregister().await;
    recording.finish()
}

/// A server that listens already, and what it is going to say.
struct Open<S> {
    server: Server<S>,
    listeners: Vec<Listeners>,
    greeting: String,
}

impl<S: Measured> Open<S> {
    fn new(
        settings: &Settings,
        rules: Rules,
        limiter: Limiter<S>,
        store: &str,
        listeners: Vec<Listeners>,
    ) -> Result<Self> {
        let addresses = bound(&listeners);
        let greeting = greeting::greeting(&addresses, store, &rules, &settings.proxy_protocol);
        let reloads = Reloads::new();
        let gate = Arc::new(RuleLimiter::new(limiter, rules.set)?);
        if let Some((path, reading)) = rules.file {
            follow(Follower::new(Arc::clone(&gate), path, &reading, reloads.clone()))?;
        }
        let mut server = Server::new(gate)
            .shutdown_timeout(settings.shutdown_timeout)
            .max_connections(settings.max_connections)
            .grpc_reflection(settings.grpc_reflection)
            .proxy_protocol(TrustedNetworks::parse(&settings.proxy_protocol)?)
            .reloads(&reloads);
        if let Some(password) = &settings.resp_password {
            server = server.resp_password(password);
        }
        Ok(Self { server, listeners, greeting })
    }

    /// Serves until it is told to stop.
    async fn until(self, stop: impl Future<Output = ()>) -> Result<Drained> {
        say(&self.greeting);
        let drained = self.server.serve_on_threads(self.listeners, stop).await;
        drained.context("cannot serve any longer")
    }

    /// The same, saying what was reached before and how it ended.
    async fn until_stopped(
        self,
        settings: &Settings,
        reached: &str,
        stop: impl Future<Output = ()>,
    ) -> Result<()> {
        say(&format!("sluicegate: {reached}\n"));
        let drained = self.until(stop).await?;
        say(&greeting::farewell(drained, settings.shutdown_timeout));
        Ok(())
    }
}

/// Follows a rule file until the program ends; SIGHUP reads it at once.
fn follow<S: Store>(follower: Follower<S>) -> Result<()> {
    let reloader = Reloader::start(follower)?;
    let hung_up = signals::on_hangup(move || reloader.reload());
    tokio::spawn(hung_up.context("cannot listen for signals")?);
    Ok(())
}

/// Where they all listen.
fn bound(listeners: &[Listeners]) -> Addresses {
    listeners.first().map(Listeners::addresses).unwrap_or_default()
}

/// Why an address cannot be listened on, and what to do about it.
fn unbound(BindError { protocol, address, error }: &BindError) -> anyhow::Error {
    let any_port = SocketAddr::new(address.ip(), 0);
    let (found, hint) = match error.kind() {
        ErrorKind::AddrInUse => {
            let or_off = if *protocol == Protocol::Http { "" } else { ", or off" };
            (
                "address already in use".to_owned(),
                format!(
                    "stop what listens there, or use --{protocol} {any_port} for any free port{or_off}"
                ),
            )
        }
        ErrorKind::PermissionDenied => (
            "permission denied".to_owned(),
            format!("use a port from 1024 on, as in --{protocol} 127.0.0.1:7070"),
        ),
        ErrorKind::AddrNotAvailable => (
            "this machine does not have that address".to_owned(),
            format!("use --{protocol} 0.0.0.0:{} for all it has", address.port()),
        ),
        _ => (error.to_string(), format!("see --help for what --{protocol} may be")),
    };
    anyhow!("cannot listen on {address} for {protocol}: {found}\nhint: {hint}")
}

//! `sluicegate serve`: the start, run and shutdown of a server.

mod banner;
mod redis;
mod rules;
mod settings;
pub(crate) mod snapshot;
mod store_args;
mod trace;

use std::env;
use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use sluicegate::{Limiter, Store};
use sluicegate_rules::{RedisSettings, RuleLimiter, TrustedNetworks};
use sluicegate_server::{
    Addresses, BindError, Drained, Listeners, Protocol, Reloads, Server, Snapshots, StoreStats,
};

use self::rules::InitialRules;
pub(crate) use self::settings::ServeSettings;
use self::store_args::StoreArgs;
use self::trace::TraceTask;
use crate::args::ServeArgs;
use crate::exit::CliError;
use crate::output::print_status;
use crate::reload::{Reloader, RuleReloader};
use crate::serve::snapshot::SnapshotTask;
use crate::{logging, runtime, signals};

/// Runs the server until a stop signal.
pub(crate) fn run(args: &ServeArgs) -> Result<(), CliError> {
    let store = StoreArgs::of(args, |name| env::var(name).ok())?;
    let rules = InitialRules::of(args.config.as_deref())?;
    let settings = ServeSettings::of(args, store, &rules.settings)?;
    logging::start(&args.log);
    Ok(runtime::run(serve(&settings, rules))?)
}

async fn serve(settings: &ServeSettings, rules: InitialRules) -> Result<()> {
    // Installed before binding, so that a SIGTERM right after the start is not lost.
    let stop = signals::stop().context("cannot install the signal handlers")?;
    let listeners =
        settings.addresses.bind(settings.threads).map_err(|error| bind_error(&error))?;
    match &settings.redis {
        None => serve_in_memory(settings, rules, listeners, stop).await,
        Some(redis) => serve_shared(settings, redis, rules, listeners, stop).await,
    }
}

/// Serves with counters in the memory of this process.
async fn serve_in_memory(
    settings: &ServeSettings,
    rules: InitialRules,
    listeners: Vec<Listeners>,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let (limiter, restored) = snapshot::limiter(settings)?;
    let recording = TraceTask::start(settings, &bound_addresses(&listeners))?;
    let Some(recording) = recording else {
        let server = limiter.clone();
        return serve_and_save(settings, rules, (server, limiter), restored, listeners, stop).await;
    };
    let server = recording.around(limiter.clone(), &rules.set);
    serve_and_save(settings, rules, (server, limiter), restored, listeners, stop).await?;
    recording.finish()
}

/// Serves from the first limiter and saves snapshots of the second, which it wraps or equals.
async fn serve_and_save<S: StoreStats>(
    settings: &ServeSettings,
    rules: InitialRules,
    (server, limiter): (Limiter<S>, Limiter),
    restored: Option<String>,
    listeners: Vec<Listeners>,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let mut bound = BoundServer::new(settings, rules, server, "memory", listeners)?;
    let mut snapshot_task = None;
    // Only after binding, so that a failed start leaves the snapshot of a running server untouched.
    if let Some(path) = &settings.snapshot {
        let snapshots = Snapshots::new();
        bound.server = bound.server.snapshots(&snapshots);
        let every = settings.snapshot_every;
        snapshot_task = Some(SnapshotTask::start(&limiter, path.clone(), every, &snapshots)?);
    }
    if let Some(restored) = restored {
        print_status(&format!("sluicegate: {restored}\n"));
    }
    let drained = bound.until(stop).await?;
    // After the last request, so that the snapshot includes its charges.
    let saved = snapshot_task.map(SnapshotTask::finish).transpose();
    if let Ok(Some(saved)) = &saved {
        print_status(&format!("sluicegate: {saved}\n"));
    }
    print_status(&banner::shutdown_message(drained, settings.shutdown_timeout));
    saved.map(drop)
}

/// Serves with counters in a store that nodes share.
async fn serve_shared(
    settings: &ServeSettings,
    redis: &RedisSettings,
    rules: InitialRules,
    listeners: Vec<Listeners>,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let memory = snapshot::memory_options(settings);
    let recording = TraceTask::start(settings, &bound_addresses(&listeners))?;
    let (store, status) = redis::connect(redis, memory, rules.set.store_secret()).await?;
    let shared = Limiter::new(store);
    let limiter = shared.clone();
    let Some(recording) = recording else {
        let bound = BoundServer::new(settings, rules, limiter, "shared", listeners)?;
        bound.until_stopped(settings, &status, stop).await?;
        shared.store().deregister().await;
        return Ok(());
    };
    let limiter = recording.around(limiter, &rules.set);
    let bound = BoundServer::new(settings, rules, limiter, "shared", listeners)?;
    bound.until_stopped(settings, &status, stop).await?;
    shared.store().deregister().await;
    recording.finish()
}

/// A server with bound listeners, and its start-up lines.
struct BoundServer<S> {
    server: Server<S>,
    listeners: Vec<Listeners>,
    greeting: String,
}

impl<S: StoreStats> BoundServer<S> {
    fn new(
        settings: &ServeSettings,
        rules: InitialRules,
        limiter: Limiter<S>,
        store: &str,
        listeners: Vec<Listeners>,
    ) -> Result<Self> {
        let addresses = bound_addresses(&listeners);
        let greeting = banner::greeting(&addresses, store, &rules, &settings.proxy_protocol);
        let reloads = Reloads::new();
        let limiter = Arc::new(RuleLimiter::new(limiter, rules.set)?);
        if let Some((path, reading)) = rules.file {
            follow(RuleReloader::new(Arc::clone(&limiter), path, &reading, reloads.clone()))?;
        }
        let mut server = Server::new(limiter)
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

    /// Serves until `stop` completes and connections are drained.
    async fn until(self, stop: impl Future<Output = ()>) -> Result<Drained> {
        print_status(&self.greeting);
        let drained = self.server.serve_on_threads(self.listeners, stop).await;
        drained.context("the server failed")
    }

    /// Serves like [`until`](Self::until), and prints the store status before and the result after.
    async fn until_stopped(
        self,
        settings: &ServeSettings,
        store_status: &str,
        stop: impl Future<Output = ()>,
    ) -> Result<()> {
        print_status(&format!("sluicegate: {store_status}\n"));
        let drained = self.until(stop).await?;
        print_status(&banner::shutdown_message(drained, settings.shutdown_timeout));
        Ok(())
    }
}

/// Watches a rule file until the program ends; SIGHUP reloads it at once.
fn follow<S: Store>(rules: RuleReloader<S>) -> Result<()> {
    let reloader = Reloader::start(rules)?;
    let hung_up = signals::on_hangup(move || reloader.reload());
    tokio::spawn(hung_up.context("cannot install the SIGHUP handler")?);
    Ok(())
}

/// The addresses that every thread listens on.
fn bound_addresses(listeners: &[Listeners]) -> Addresses {
    listeners.first().map(Listeners::addresses).unwrap_or_default()
}

/// The error for an address that cannot be bound, with a hint.
fn bind_error(BindError { protocol, address, error }: &BindError) -> anyhow::Error {
    let any_port = SocketAddr::new(address.ip(), 0);
    let (found, hint) = match error.kind() {
        ErrorKind::AddrInUse => {
            let or_off = if *protocol == Protocol::Http { "" } else { ", or off" };
            (
                "address already in use".to_owned(),
                format!(
                    "stop the program that listens there, or use --{protocol} {any_port} for any \
                     free port{or_off}"
                ),
            )
        }
        ErrorKind::PermissionDenied => (
            "permission denied".to_owned(),
            format!("use a port from 1024 on, as in --{protocol} 127.0.0.1:7070"),
        ),
        ErrorKind::AddrNotAvailable => (
            "this machine does not have that address".to_owned(),
            format!("use --{protocol} 0.0.0.0:{} for all its addresses", address.port()),
        ),
        _ => (error.to_string(), format!("give another address with --{protocol}")),
    };
    anyhow!("cannot listen on {address} for {protocol}: {found}\nhint: {hint}")
}

//! The effective settings: flags, then the rule file, then defaults.

#[cfg(test)]
mod tests;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use sluicegate_rules::{Listen, RedisSettings};
use sluicegate_server::Addresses;

use super::store_args::StoreArgs;
use crate::args::ServeArgs;
use crate::args::interval::IntervalArg;

const DEFAULT_SNAPSHOT_EVERY: Duration = Duration::from_secs(60);

/// The settings of the program, fixed until it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServeSettings {
    /// The addresses of the listeners.
    pub(crate) addresses: Addresses,
    /// The password for clients of the Redis protocol.
    pub(crate) resp_password: Option<String>,
    /// The number of server threads.
    pub(crate) threads: usize,
    /// The largest number of open connections.
    pub(crate) max_connections: usize,
    /// Whether gRPC reflection is served.
    pub(crate) grpc_reflection: bool,
    /// Networks whose connections begin with a PROXY header.
    pub(crate) proxy_protocol: Vec<String>,
    /// The shared store, if there is one.
    pub(crate) redis: Option<RedisSettings>,
    /// The memory limit for counters, in bytes.
    pub(crate) memory_max: Option<usize>,
    /// The snapshot file, which keeps the counters over a restart.
    pub(crate) snapshot: Option<PathBuf>,
    /// The time between two snapshots.
    pub(crate) snapshot_every: Duration,
    /// The time limit for requests in flight after a stop signal.
    pub(crate) shutdown_timeout: Duration,
    /// The trace file, which every decision is written to.
    pub(crate) trace: Option<PathBuf>,
    /// The name of this node in its trace.
    pub(crate) node: Option<String>,
}

impl ServeSettings {
    /// Combines the arguments, which take precedence, with the settings of the rule file.
    pub(super) fn of(
        args: &ServeArgs,
        store: StoreArgs,
        file: &sluicegate_rules::Settings,
    ) -> Result<Self> {
        let addresses = Addresses {
            http: address(args.http, file.http, Listen::HTTP_PORT),
            grpc: address(args.grpc, file.grpc, Listen::GRPC_PORT),
            resp: address(args.resp, file.resp, Listen::RESP_PORT),
        };
        if addresses == Addresses::default() {
            bail!(
                "nothing to listen on: http, grpc and resp are all off\n\
                 hint: give one an address, as in --http 127.0.0.1:7070"
            );
        }
        let redis = store.over(file.redis.as_ref());
        if redis.is_some() && args.snapshot.is_some() {
            bail!(
                "cannot use --snapshot with a shared store\n\
                 hint: leave out --snapshot: a shared store keeps its counters over a restart"
            );
        }
        let memory = &file.memory;
        // With --store, the snapshot in the file has no memory store to save.
        let file_snapshot = memory.snapshot.clone().filter(|_| redis.is_none());
        let max = args.memory_max.map(|max| max.0);
        let file_max = memory.max.map(|max| usize::try_from(max).unwrap_or(usize::MAX));
        let every = args.snapshot_every.map(|IntervalArg(every)| every);
        let file_every = memory.snapshot_every.map(Duration::from);
        Ok(Self {
            addresses,
            resp_password: args.resp_password_file.as_deref().map(password).transpose()?,
            threads: args.threads.map_or_else(cores, usize::from),
            max_connections: usize::try_from(args.max_connections).unwrap_or(usize::MAX),
            grpc_reflection: args.grpc_reflection,
            proxy_protocol: file.proxy_protocol.clone(),
            redis,
            memory_max: max.or(file_max),
            snapshot: args.snapshot.clone().or(file_snapshot),
            snapshot_every: every.or(file_every).unwrap_or(DEFAULT_SNAPSHOT_EVERY),
            shutdown_timeout: Duration::from_secs(args.shutdown_timeout),
            trace: args.trace.clone(),
            node: args.node.clone(),
        })
    }
}

/// The address of a listener: from the flag, the file, or the default port on loopback.
fn address(flag: Option<Listen>, file: Option<Listen>, default_port: u16) -> Option<SocketAddr> {
    let default = Listen::At((Ipv4Addr::LOCALHOST, default_port).into());
    match flag.or(file).unwrap_or(default) {
        Listen::At(address) => Some(address),
        Listen::Off => None,
    }
}

fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// The password in the first line of a file.
fn password(path: &Path) -> Result<String> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the password for clients from {shown}"))?;
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned()),
        None => bail!(
            "cannot use the password for clients from {shown}: the first line is empty\n\
             hint: write the password into it, or leave out --resp-password-file"
        ),
    }
}

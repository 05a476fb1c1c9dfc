//! What to go by: what was typed, else what the rule file says, else what is usual.

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

use super::typed::TypedStore;
use crate::args::ServeArgs;
use crate::period::Every;

const HTTP_PORT: u16 = 7070;
const GRPC_PORT: u16 = 7071;
const RESP_PORT: u16 = 7072;
const USUALLY_EVERY: Duration = Duration::from_secs(60);

/// What the program goes by until it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Where to listen.
    pub(crate) addresses: Addresses,
    /// What clients of the protocol of Redis have to know.
    pub(crate) resp_password: Option<String>,
    /// How many threads serve.
    pub(crate) threads: usize,
    /// How many connections may be open.
    pub(crate) max_connections: usize,
    /// Whether clients of gRPC are told what there is to call.
    pub(crate) grpc_reflection: bool,
    /// Networks whose connections begin with a PROXY header.
    pub(crate) proxy_protocol: Vec<String>,
    /// The store that nodes share, if they share one.
    pub(crate) redis: Option<RedisSettings>,
    /// The most bytes that counters take.
    pub(crate) memory_max: Option<usize>,
    /// A file that keeps the counters over a restart …
    pub(crate) snapshot: Option<PathBuf>,
    /// … and how often it is written.
    pub(crate) snapshot_every: Duration,
    /// How long requests in flight may take when told to stop.
    pub(crate) shutdown_timeout: Duration,
    /// A file that every decision is written to …
    pub(crate) trace: Option<PathBuf>,
    /// … and what this node is called in it.
    pub(crate) node: Option<String>,
}

impl Settings {
    /// What was typed goes before what the file says.
    pub(super) fn of(
        args: &ServeArgs,
        store: TypedStore,
        file: &sluicegate_rules::Settings,
    ) -> Result<Self> {
        let addresses = Addresses {
            http: address(args.http, file.http, HTTP_PORT),
            grpc: address(args.grpc, file.grpc, GRPC_PORT),
            resp: address(args.resp, file.resp, RESP_PORT),
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
                "there is no snapshot beside a shared store\n\
                 hint: leave out --snapshot: what nodes share outlives them in the shared store"
            );
        }
        let memory = &file.memory;
        // A shared store that was typed makes the file's snapshot one of nothing.
        let file_snapshot = memory.snapshot.clone().filter(|_| redis.is_none());
        let typed_max = args.memory_max.map(|max| max.0);
        let file_max = memory.max.map(|max| usize::try_from(max).unwrap_or(usize::MAX));
        let typed_every = args.snapshot_every.map(|Every(every)| every);
        let file_every = memory.snapshot_every.map(Duration::from);
        Ok(Self {
            addresses,
            resp_password: args.resp_password_file.as_deref().map(password).transpose()?,
            threads: args.threads.map_or_else(cores, usize::from),
            max_connections: usize::try_from(args.max_connections).unwrap_or(usize::MAX),
            grpc_reflection: args.grpc_reflection,
            proxy_protocol: file.proxy_protocol.clone(),
            redis,
            memory_max: typed_max.or(file_max),
            snapshot: args.snapshot.clone().or(file_snapshot),
            snapshot_every: typed_every.or(file_every).unwrap_or(USUALLY_EVERY),
            shutdown_timeout: Duration::from_secs(args.shutdown_timeout),
            trace: args.trace.clone(),
            node: args.node.clone(),
        })
    }
}

/// Where to listen: as was typed, as the file says, or on the usual port of this machine.
fn address(typed: Option<Listen>, file: Option<Listen>, usual: u16) -> Option<SocketAddr> {
    let usual = Listen::At((Ipv4Addr::LOCALHOST, usual).into());
    match typed.or(file).unwrap_or(usual) {
        Listen::At(address) => Some(address),
        Listen::Off => None,
    }
}

fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// The first line of a file, which must not be empty.
fn password(path: &Path) -> Result<String> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the password for clients from {shown}"))?;
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned()),
        None => bail!(
            "there is no password for clients in {shown}\n\
             hint: write it into the first line, or leave out --resp-password-file"
        ),
    }
}

//! What to go by: what was typed, else what the rule file says, else what is usual.

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use tollgate_rules::{Listen, RedisSettings};

use super::typed::TypedStore;
use crate::args::ServeArgs;
use crate::period::Every;

const USUAL_PORT: u16 = 7070;
const USUALLY_EVERY: Duration = Duration::from_secs(60);

/// What the program goes by until it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Where to listen for HTTP.
    pub(crate) address: SocketAddr,
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
}

impl Settings {
    /// What was typed goes before what the file says.
    pub(super) fn of(
        args: &ServeArgs,
        store: TypedStore,
        file: &tollgate_rules::Settings,
    ) -> Result<Self> {
        let usual = Listen::At((Ipv4Addr::LOCALHOST, USUAL_PORT).into());
        let address = match (args.http, file.http.unwrap_or(usual)) {
            (Some(Listen::At(address)), _) | (None, Listen::At(address)) => address,
            (typed, _) => {
                let off = if typed.is_some() { "--http" } else { "`listen.http` in the rule file" };
                bail!(
                    "nothing to listen on: {off} is off\n\
                     hint: give it an address, as in --http 127.0.0.1:7070"
                );
            }
        };
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
            address,
            proxy_protocol: file.proxy_protocol.clone(),
            redis,
            memory_max: typed_max.or(file_max),
            snapshot: args.snapshot.clone().or(file_snapshot),
            snapshot_every: typed_every.or(file_every).unwrap_or(USUALLY_EVERY),
            shutdown_timeout: Duration::from_secs(args.shutdown_timeout),
        })
    }
}

//! What was typed after `sluicegate serve`.

use std::path::PathBuf;

use clap::value_parser;
use sluicegate_rules::Listen;

use crate::bytes::MemoryMax;
use crate::logging::Filter;
use crate::period::Every;

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// The rule file, or a folder of them; a few built-in rules if left out
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Where to listen for HTTP: an address with a port, or `off`; what the rule file says, or
    /// 127.0.0.1:7070, if left out
    #[arg(long, value_name = "ADDRESS", env = "SLUICEGATE_HTTP", value_parser = listen)]
    pub(crate) http: Option<Listen>,

    /// Where to listen for gRPC, Envoy's rate limit service: an address with a port, or `off`; what
    /// the rule file says, or 127.0.0.1:7071, if left out
    #[arg(long, value_name = "ADDRESS", env = "SLUICEGATE_GRPC", value_parser = listen)]
    pub(crate) grpc: Option<Listen>,

    /// Tell clients of gRPC, by reflection, which calls and messages there are
    #[arg(long, env = "SLUICEGATE_GRPC_REFLECTION")]
    pub(crate) grpc_reflection: bool,

    /// Where to listen for the protocol of Redis: an address with a port, or `off`; what the rule
    /// file says, or 127.0.0.1:7072, if left out
    #[arg(long, value_name = "ADDRESS", env = "SLUICEGATE_RESP", value_parser = listen)]
    pub(crate) resp: Option<Listen>,

    /// A file with the password that clients of the protocol of Redis have to give
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_RESP_PASSWORD_FILE")]
    pub(crate) resp_password_file: Option<PathBuf>,

    /// How many threads serve; as many as there are cores if left out
    #[arg(
        long,
        value_name = "NUMBER",
        env = "SLUICEGATE_THREADS",
        value_parser = value_parser!(u16).range(1..=1_024)
    )]
    pub(crate) threads: Option<u16>,

    /// How many connections may be open; whoever is one too many is told so
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 20_000,
        env = "SLUICEGATE_MAX_CONNECTIONS",
        value_parser = value_parser!(u32).range(1..=10_000_000)
    )]
    pub(crate) max_connections: u32,

    /// What to log: a level, or target=level, or several of these with commas between
    #[arg(long, value_name = "FILTER", env = "SLUICEGATE_LOG", default_value = "info")]
    pub(crate) log: Filter,

    /// How many seconds requests in flight may take when told to stop
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10,
        value_parser = value_parser!(u64).range(0..=86_400)
    )]
    pub(crate) shutdown_timeout: u64,

    /// Where counters live: `memory`, or redis://host:port for a Redis or Valkey that nodes share,
    /// `redis+sentinel://a,b,c/name` or `redis+cluster://a,b,c` for several, rediss
    /// in place of redis for TLS; what the rule file says, or memory, if left out
    // Read later: what is wrong with it must be said without its password.
    #[arg(long, value_name = "STORE", env = "SLUICEGATE_STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,

    /// A file with the password of the shared store; or set `SLUICEGATE_STORE_PASSWORD`
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_STORE_PASSWORD_FILE")]
    pub(crate) store_password_file: Option<PathBuf>,

    /// A file with the password of the sentinels that know where the shared store is; or set
    /// `SLUICEGATE_SENTINEL_PASSWORD`
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_SENTINEL_PASSWORD_FILE")]
    pub(crate) sentinel_password_file: Option<PathBuf>,

    /// The most memory to take for counters, as in 256MiB; what the rule file says, or a quarter of
    /// the machine's, if left out
    #[arg(long, value_name = "BYTES", env = "SLUICEGATE_MEMORY_MAX")]
    pub(crate) memory_max: Option<MemoryMax>,

    /// A file that keeps the counters over a restart; what the rule file says, or none, if left out
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_SNAPSHOT")]
    pub(crate) snapshot: Option<PathBuf>,

    /// How often to write it: what a crash loses at most; what the rule file says, or 60s, if left
    /// out
    #[arg(long, value_name = "TIME", env = "SLUICEGATE_SNAPSHOT_EVERY")]
    pub(crate) snapshot_every: Option<Every>,

    /// A file to write every decision to, for `sluicegate audit`; what was there is replaced
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_TRACE")]
    pub(crate) trace: Option<PathBuf>,

    /// What this node is called in its trace; its host and port if left out
    #[arg(long, value_name = "NAME", env = "SLUICEGATE_NODE", requires = "trace")]
    pub(crate) node: Option<String>,
}

/// Where to listen, or not to.
fn listen(text: &str) -> Result<Listen, &'static str> {
    if text == "off" {
        return Ok(Listen::Off);
    }
    text.parse().map(Listen::At).map_err(|_| {
        "it is not an address with a port; \
         use one as in 127.0.0.1:7070, [::1]:7070 or 0.0.0.0:7070, or `off`"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_a_port() {
        assert_eq!(listen("off"), Ok(Listen::Off));
        assert_eq!(listen("[::1]:7070"), Ok(Listen::At("[::1]:7070".parse().unwrap())));
        for wrong in ["", "7070", ":7070", "127.0.0.1", "localhost:7070", "127.0.0.1:70700", "OFF"]
        {
            assert!(listen(wrong).is_err(), "{wrong}");
        }
    }
}

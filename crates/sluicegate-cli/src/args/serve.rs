//! Arguments of `sluicegate serve`.

use std::path::PathBuf;

use clap::value_parser;
use sluicegate_rules::Listen;

use crate::args::interval::IntervalArg;
use crate::args::memory_max::MemoryMax;
use crate::logging::Filter;

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// The rule file, or a folder of them; by default, a few built-in rules
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// The HTTP listener: an IP address with a port, or `off`; by default, as in the rule file, or
    /// 127.0.0.1:7070
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "SLUICEGATE_HTTP",
        value_parser = listen::<{ Listen::HTTP_PORT }>
    )]
    pub(crate) http: Option<Listen>,

    /// The gRPC listener, for Envoy's rate limit service: an IP address with a port, or `off`; by
    /// default, as in the rule file, or 127.0.0.1:7071
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "SLUICEGATE_GRPC",
        value_parser = listen::<{ Listen::GRPC_PORT }>
    )]
    pub(crate) grpc: Option<Listen>,

    /// Serve gRPC reflection, which lists calls and messages
    #[arg(long, env = "SLUICEGATE_GRPC_REFLECTION")]
    pub(crate) grpc_reflection: bool,

    /// The listener for the Redis protocol: an IP address with a port, or `off`; by default, as in
    /// the rule file, or 127.0.0.1:7072
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "SLUICEGATE_RESP",
        value_parser = listen::<{ Listen::RESP_PORT }>
    )]
    pub(crate) resp: Option<Listen>,

    /// A file with the password that clients of the Redis protocol must send
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_RESP_PASSWORD_FILE")]
    pub(crate) resp_password_file: Option<PathBuf>,

    /// The number of server threads; by default, the number of cores
    #[arg(
        long,
        value_name = "NUMBER",
        env = "SLUICEGATE_THREADS",
        value_parser = value_parser!(u16).range(1..=1_024)
    )]
    pub(crate) threads: Option<u16>,

    /// The largest number of open connections; further ones get an error and are closed
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 20_000,
        env = "SLUICEGATE_MAX_CONNECTIONS",
        value_parser = value_parser!(u32).range(1..=10_000_000)
    )]
    pub(crate) max_connections: u32,

    /// The log filter: a level, or target=level, or several of these separated by commas
    #[arg(long, value_name = "FILTER", env = "SLUICEGATE_LOG", default_value = "info")]
    pub(crate) log: Filter,

    /// The time limit for requests in flight after a stop signal, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10,
        value_parser = value_parser!(u64).range(0..=86_400)
    )]
    pub(crate) shutdown_timeout: u64,

    /// The store of the counters: `memory`, redis://host:port for a Redis or Valkey that nodes
    /// share, `redis+sentinel://a,b,c/name` for Sentinel or `redis+cluster://a,b,c` for Cluster;
    /// `rediss` instead of `redis` uses TLS; by default, as in the rule file, or `memory`
    // Parsed later, because clap's errors print the value and it may contain a password.
    #[arg(long, value_name = "STORE", env = "SLUICEGATE_STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,

    /// A file with the password of the shared store; `SLUICEGATE_STORE_PASSWORD` also sets it
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_STORE_PASSWORD_FILE")]
    pub(crate) store_password_file: Option<PathBuf>,

    /// A file with the password of the sentinels of the shared store;
    /// `SLUICEGATE_SENTINEL_PASSWORD` also sets it
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_SENTINEL_PASSWORD_FILE")]
    pub(crate) sentinel_password_file: Option<PathBuf>,

    /// The memory limit for counters, as in 256MiB; by default, as in the rule file, or a quarter
    /// of the machine's memory
    #[arg(long, value_name = "BYTES", env = "SLUICEGATE_MEMORY_MAX")]
    pub(crate) memory_max: Option<MemoryMax>,

    /// A file that keeps the counters over a restart; by default, as in the rule file, or none
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_SNAPSHOT")]
    pub(crate) snapshot: Option<PathBuf>,

    /// The time between two snapshots, which is the most that a crash loses; by default, as in the
    /// rule file, or 60s
    #[arg(long, value_name = "TIME", env = "SLUICEGATE_SNAPSHOT_EVERY")]
    pub(crate) snapshot_every: Option<IntervalArg>,

    /// A file to write every decision to, for `sluicegate audit`; an existing file is replaced
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_TRACE")]
    pub(crate) trace: Option<PathBuf>,

    /// The name of this node in its trace; by default, its host and port
    #[arg(long, value_name = "NAME", env = "SLUICEGATE_NODE", requires = "trace")]
    pub(crate) node: Option<String>,
}

/// Parses the address of a listener, or `off`.
fn listen<const DEFAULT_PORT: u16>(text: &str) -> Result<Listen, String> {
    Listen::parse(text, DEFAULT_PORT)
        .map_err(|fix| format!("it is not an IP address with a port; {fix}"))
}

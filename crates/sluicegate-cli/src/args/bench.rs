//! Arguments of `sluicegate bench`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{ValueEnum, value_parser};
use sluicegate::Quota;

/// The protocol of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchProtocol {
    /// `POST /v1/throttle`
    Http,
    /// Envoy's rate limit service, with the key as a descriptor
    Grpc,
    /// `CL.THROTTLE`
    Resp,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// The protocol
    #[arg(value_enum, value_name = "PROTOCOL")]
    pub(crate) protocol: BenchProtocol,

    /// The address of the server; by default, the default port of the protocol on this machine
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) address: Option<SocketAddr>,

    /// The number of concurrent connections
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..=100_000))]
    pub(crate) connections: u32,

    /// The number of requests in flight on each connection
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u32).range(1..=10_000))]
    pub(crate) pipeline: u32,

    /// The number of callers that requests are spread over
    #[arg(long, default_value_t = 100_000, value_parser = value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) keys: u64,

    /// The exponent of a Zipf distribution of callers, as in 1.1; uniform by default
    #[arg(long, value_name = "EXPONENT", value_parser = exponent)]
    pub(crate) zipf: Option<f64>,

    /// The quota of each caller, as in `100/min burst 20`; for `http` and `resp`
    #[arg(long, default_value = "1000000/s")]
    pub(crate) quota: Quota,

    /// Requests per second over all connections; by default, each follows the previous answer
    #[arg(long, value_parser = value_parser!(u64).range(1..=100_000_000))]
    pub(crate) rate: Option<u64>,

    /// The duration of the run, as in 10s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = length)]
    pub(crate) duration: Duration,

    /// The number of client threads
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u16).range(1..=256))]
    pub(crate) threads: u16,

    /// The path, for `http`; `{key}` is replaced by the caller
    #[arg(long, default_value = "/v1/throttle")]
    pub(crate) path: String,

    /// The body to post, for `http`; `{key}` is replaced by the caller. By default, the body of
    /// /v1/throttle; an empty body sends GET requests
    #[arg(long)]
    pub(crate) body: Option<String>,

    /// The domain of the calls, for `grpc`
    #[arg(long, default_value = "bench")]
    pub(crate) domain: String,
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| {
        "it is not an IP address with a port; use one as in 127.0.0.1:7070 for http, \
         127.0.0.1:7071 for grpc or 127.0.0.1:7072 for resp"
    })
}

fn exponent(text: &str) -> Result<f64, &'static str> {
    let exponent: f64 = text.parse().map_err(|_| "it is not a number; use one as in 1.1")?;
    if exponent > 0.0 && exponent <= 10.0 {
        Ok(exponent)
    } else {
        Err("it is out of range; use a number above 0, up to 10")
    }
}

fn length(text: &str) -> Result<Duration, String> {
    let length = Duration::from(sluicegate_rules::parse_length(text)?);
    if length.is_zero() {
        Err("it must be longer than 0; use at least 1ms".to_owned())
    } else {
        Ok(length)
    }
}

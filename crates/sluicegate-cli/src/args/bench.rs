//! What was typed after `sluicegate bench`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{ValueEnum, value_parser};
use sluicegate::Quota;

/// What is spoken to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Spoken {
    /// `POST /v1/throttle`
    Http,
    /// Envoy's rate limit service, with the key as a descriptor
    Grpc,
    /// `CL.THROTTLE`
    Resp,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// What to speak
    #[arg(value_enum, value_name = "PROTOCOL")]
    pub(crate) protocol: Spoken,

    /// Where the server listens for it; the usual port of this machine if left out
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<SocketAddr>,

    /// Connections at a time
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..=100_000))]
    pub(crate) connections: u32,

    /// Requests under way on each connection
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u32).range(1..=10_000))]
    pub(crate) pipeline: u32,

    /// Callers that requests are spread over
    #[arg(long, default_value_t = 100_000, value_parser = value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) keys: u64,

    /// How uneven: the exponent of a Zipf distribution, as in 1.1; all alike if left out
    #[arg(long, value_name = "EXPONENT", value_parser = exponent)]
    pub(crate) zipf: Option<f64>,

    /// What each caller may do, as in `100/min burst 20`, where the protocol can say so
    #[arg(long, default_value = "1000000/s")]
    pub(crate) quota: Quota,

    /// Requests a second, all together; as many as are answered if left out
    #[arg(long, value_parser = value_parser!(u64).range(1..=100_000_000))]
    pub(crate) rate: Option<u64>,

    /// How long, as in 10s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = length)]
    pub(crate) duration: Duration,

    /// Threads that ask
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u16).range(1..=256))]
    pub(crate) threads: u16,

    /// Where to ask, for HTTP; `{key}` stands for the caller
    #[arg(long, default_value = "/v1/throttle")]
    pub(crate) path: String,

    /// What to post there, with `{key}` for the caller: what /v1/throttle takes if left out, and if
    /// empty it is not posted but got
    #[arg(long)]
    pub(crate) body: Option<String>,

    /// The domain of the calls, for gRPC
    #[arg(long, default_value = "bench")]
    pub(crate) domain: String,
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
        Err("it is no time at all; use at least 1ms".to_owned())
    } else {
        Ok(length)
    }
}

//! What was typed.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, Subcommand, value_parser};

use crate::bytes::Bytes;
use crate::logging::Filter;
use crate::period::Every;

/// A rate limiter: may this caller do this now?
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answers requests until it is told to stop
    Serve(ServeArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Where to listen for HTTP: an address with a port, or `off`
    #[arg(long, value_name = "ADDRESS", env = "TOLLGATE_HTTP", default_value = "127.0.0.1:7070")]
    pub(crate) http: Listen,

    /// What to log: a level, or target=level, or several of these with commas between
    #[arg(long, value_name = "FILTER", env = "TOLLGATE_LOG", default_value = "info")]
    pub(crate) log: Filter,

    /// How many seconds requests in flight may take when told to stop
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10,
        value_parser = value_parser!(u64).range(0..=86_400)
    )]
    pub(crate) shutdown_timeout: u64,

    /// The most memory to take for counters, as in 256MiB; a quarter of the machine's if left out
    #[arg(long, value_name = "BYTES", env = "TOLLGATE_MEMORY_MAX")]
    pub(crate) memory_max: Option<Bytes>,

    /// A file that keeps the counters over a restart; none if left out
    #[arg(long, value_name = "FILE", env = "TOLLGATE_SNAPSHOT")]
    pub(crate) snapshot: Option<PathBuf>,

    /// How often to write it: what a crash loses at most
    #[arg(long, value_name = "TIME", env = "TOLLGATE_SNAPSHOT_EVERY", default_value = "60s")]
    pub(crate) snapshot_every: Every,
}

/// Where to listen, or not to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listen {
    At(SocketAddr),
    Off,
}

impl FromStr for Listen {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "off" {
            return Ok(Self::Off);
        }
        text.parse().map(Self::At).map_err(|_| {
            "it is not an address with a port; \
             use one as in 127.0.0.1:7070, [::1]:7070 or 0.0.0.0:7070, or `off`"
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Args::command().debug_assert();
    }

    #[test]
    fn an_address_needs_a_port() {
        assert_eq!("off".parse(), Ok(Listen::Off));
        let address = "[::1]:7070".parse().unwrap();
        assert_eq!("[::1]:7070".parse(), Ok(Listen::At(address)));
        for wrong in ["", "7070", ":7070", "127.0.0.1", "localhost:7070", "127.0.0.1:70700", "OFF"]
        {
            assert!(wrong.parse::<Listen>().is_err(), "{wrong}");
        }
    }
}

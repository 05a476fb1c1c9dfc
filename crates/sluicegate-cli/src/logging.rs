//! The log filter and the log output.

use std::io::{self, IsTerminal};
use std::str::FromStr;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// A filter by level and target.
#[derive(Debug, Clone)]
pub(crate) struct Filter(Targets);

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        for part in text.split(',') {
            // `Targets` parses a single word as a target, so a misspelt level would log nothing.
            let level = part.rsplit_once('=').map_or(part, |(_, level)| level);
            // `Targets` parses an empty level as `error`.
            if level.is_empty() || level.parse::<LevelFilter>().is_err() {
                return Err(format!(
                    "`{level}` is not a level; use off, error, warn, info, debug or trace, \
                     or one for each target, as in `info,hyper=debug`"
                ));
            }
        }
        text.parse().map(Self).map_err(|error| format!("it is not a log filter: {error}"))
    }
}

/// Starts logging to standard error, in colour only on a terminal.
///
/// Standard output is reserved for the output of the commands.
pub(crate) fn start(filter: &Filter) {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    tracing_subscriber::registry().with(lines).with(filter.0.clone()).init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_levels_and_rejects_other_words() {
        for right in ["info", "OFF", "debug", "info,hyper=debug", "sluicegate_server=trace"] {
            assert!(right.parse::<Filter>().is_ok(), "{right}");
        }
        for wrong in ["", "loud", "info,", "hyper", "hyper=", "info,hyper=loud"] {
            assert!(wrong.parse::<Filter>().is_err(), "{wrong}");
        }
    }
}

//! The log: what goes into it, and where it goes.

use std::io::{self, IsTerminal};
use std::str::FromStr;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// What is logged.
#[derive(Debug, Clone)]
pub(crate) struct Filter(Targets);

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        for part in text.split(',') {
            // A word alone would be taken for a target, and a misspelt level for silence.
            let level = part.rsplit_once('=').map_or(part, |(_, level)| level);
            // No word at all would be taken for `error`.
            if level.is_empty() || level.parse::<LevelFilter>().is_err() {
                return Err(format!(
                    "`{level}` is not a level; use off, error, warn, info, debug or trace, \
                     or one for each target, as in `info,hyper=debug`"
                ));
            }
        }
        text.parse().map(Self).map_err(|error| format!("it cannot be read: {error}"))
    }
}

/// Logs to standard error from here on, in colour only for a reader who can see it.
///
/// Standard output is left to what the program has to say.
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
    fn levels_are_read_and_other_words_are_not() {
        for right in ["info", "OFF", "debug", "info,hyper=debug", "sluicegate_server=trace"] {
            assert!(right.parse::<Filter>().is_ok(), "{right}");
        }
        for wrong in ["", "loud", "info,", "hyper", "hyper=", "info,hyper=loud"] {
            assert!(wrong.parse::<Filter>().is_err(), "{wrong}");
        }
    }
}

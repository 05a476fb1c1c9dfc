//! An interval on the command line.

use std::str::FromStr;
use std::time::Duration;

/// The time between two runs of a periodic task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IntervalArg(pub(crate) Duration);

const SHORTEST: Duration = Duration::from_secs(1);

impl FromStr for IntervalArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let every = Duration::from(sluicegate_rules::parse_length(text)?);
        if every < SHORTEST {
            return Err("the interval is too short; use at least 1s".to_owned());
        }
        Ok(Self(every))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_durations_with_units() {
        for (text, seconds) in [
            ("60s", 60),
            ("2000ms", 2),
            ("5m", 300),
            ("5 min", 300),
            ("1h", 3_600),
            ("1s", 1),
            ("1d", 86_400),
        ] {
            assert_eq!(text.parse(), Ok(IntervalArg(Duration::from_secs(seconds))), "{text}");
        }
    }

    #[test]
    fn errors_name_a_valid_duration() {
        for (text, words) in [
            ("", "as in `15m`"),
            ("60", "as in `15m`"),
            ("s", "as in `15m`"),
            ("1.5s", "as in `15m`"),
            ("often", "as in `15m`"),
            ("999ms", "use at least 1s"),
            ("0s", "use at least 1s"),
            ("9999999999999h", "use at most"),
        ] {
            assert!(text.parse::<IntervalArg>().unwrap_err().contains(words), "{text}");
        }
    }
}

//! How often something is done, as it is typed.

use std::str::FromStr;
use std::time::Duration;

/// How often something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Every(pub(crate) Duration);

const SHORTEST: Duration = Duration::from_secs(1);

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let every = Duration::from(sluicegate_rules::parse_length(text)?);
        if every < SHORTEST {
            return Err("it is too often; use at least 1s".to_owned());
        }
        Ok(Self(every))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_with_their_units() {
        for (text, seconds) in [
            ("60s", 60),
            ("2000ms", 2),
            ("5m", 300),
            ("5 min", 300),
            ("1h", 3_600),
            ("1s", 1),
            ("1d", 86_400),
        ] {
            assert_eq!(text.parse(), Ok(Every(Duration::from_secs(seconds))), "{text}");
        }
    }

    #[test]
    fn others_are_refused_with_what_would_be_right() {
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
            assert!(text.parse::<Every>().unwrap_err().contains(words), "{text}");
        }
    }
}

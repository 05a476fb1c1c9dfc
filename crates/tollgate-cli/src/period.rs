//! How often something is done, as it is typed.

use std::str::FromStr;
use std::time::Duration;

/// How often something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Every(pub(crate) Duration);

const SHORTEST: Duration = Duration::from_secs(1);

/// `ms` before the unit that it ends with.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

impl FromStr for Every {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str =
            "it is not a length of time; use a whole number with ms, s, m or h, as in 60s";
        let unit = UNITS.iter().find_map(|(unit, millis)| Some((text.strip_suffix(unit)?, millis)));
        let (number, unit) = unit.ok_or(WRONG)?;
        let number: u64 = number.trim_end().parse().map_err(|_| WRONG)?;
        let millis =
            number.checked_mul(*unit).ok_or("it is longer than anybody waits; use less")?;
        let every = Duration::from_millis(millis);
        if every < SHORTEST {
            return Err("it is too often; use at least 1s");
        }
        Ok(Self(every))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_with_their_units() {
        for (text, seconds) in [("60s", 60), ("2000ms", 2), ("5m", 300), ("1h", 3_600), ("1s", 1)] {
            assert_eq!(text.parse(), Ok(Every(Duration::from_secs(seconds))), "{text}");
        }
    }

    #[test]
    fn others_are_refused_with_what_would_be_right() {
        for (text, words) in [
            ("", "as in 60s"),
            ("60", "as in 60s"),
            ("s", "as in 60s"),
            ("1.5s", "as in 60s"),
            ("often", "as in 60s"),
            ("999ms", "use at least 1s"),
            ("0s", "use at least 1s"),
            ("99999999999999999h", "use less"),
        ] {
            assert!(text.parse::<Every>().unwrap_err().contains(words), "{text}");
        }
    }
}

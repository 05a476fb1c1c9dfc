//! The memory limit for counters on the command line.

use std::str::FromStr;

use sluicegate::MemoryOptions;

/// An amount of memory that is large enough for a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryMax(pub(crate) usize);

impl FromStr for MemoryMax {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = usize::try_from(sluicegate_rules::parse_bytes(text)?)
            .map_err(|_| "it is more memory than any machine has; use less")?;
        if bytes < MemoryOptions::MIN_BYTES {
            return Err("it is too little to keep counters in; use at least 1MiB".to_owned());
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_amounts_with_units() {
        for (text, bytes) in [
            ("256MiB", 256 << 20),
            ("1GiB", 1 << 30),
            ("2048KiB", 2 << 20),
            ("2000KB", 2_000_000),
            ("64 MB", 64_000_000),
            ("3GB", 3_000_000_000),
            ("1048576", 1 << 20),
            ("1_048_576B", 1 << 20),
        ] {
            assert_eq!(text.parse(), Ok(MemoryMax(bytes)), "{text}");
        }
    }

    #[test]
    fn errors_name_a_valid_amount() {
        for (text, words) in [
            ("", "as in 256MiB"),
            ("MiB", "as in 256MiB"),
            ("much", "as in 256MiB"),
            ("1.5GiB", "as in 256MiB"),
            ("-1MiB", "as in 256MiB"),
            ("256M", "as in 256MiB"),
            ("1023KiB", "use at least 1MiB"),
            ("0", "use at least 1MiB"),
            ("99999999999GiB", "use less"),
        ] {
            assert!(text.parse::<MemoryMax>().unwrap_err().contains(words), "{text}");
        }
    }
}

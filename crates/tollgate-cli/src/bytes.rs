//! An amount of memory, as it is typed.

use std::str::FromStr;

use tollgate::MemoryOptions;

/// An amount of memory that a store can be made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) usize);

/// Longer names first: each ends with the last.
const UNITS: [(&str, u64); 8] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
    ("", 1),
];

impl FromStr for Bytes {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "it is not an amount of memory; \
                             use a whole number with KiB, MiB, GiB, KB, MB or GB, as in 256MiB";
        let unit = UNITS.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, bytes)));
        let (number, unit) = unit.ok_or(WRONG)?;
        let number: u64 = number.trim_end().parse().map_err(|_| WRONG)?;
        let bytes = number.checked_mul(*unit).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or("it is more memory than any machine has; use less")?;
        if bytes < MemoryOptions::MIN_BYTES {
            return Err("it is too little to keep counters in; use at least 1MiB");
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_with_their_units() {
        for (text, bytes) in [
            ("256MiB", 256 << 20),
            ("1GiB", 1 << 30),
            ("2048KiB", 2 << 20),
            ("2000KB", 2_000_000),
            ("64 MB", 64_000_000),
            ("3GB", 3_000_000_000),
            ("1048576", 1 << 20),
            ("1048576B", 1 << 20),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn others_are_refused_with_what_would_be_right() {
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
            assert!(text.parse::<Bytes>().unwrap_err().contains(words), "{text}");
        }
    }
}

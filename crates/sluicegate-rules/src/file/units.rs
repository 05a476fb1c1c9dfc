//! Durations and amounts of memory, as people write them.

use sluicegate::Span;

/// Parses a duration: `200ms`, `60s`, `15m`, `24h`, `7 days`.
///
/// ```
/// use sluicegate_rules::parse_length;
///
/// assert_eq!(parse_length("15m")?.to_string(), "15min");
/// assert!(parse_length("soon").unwrap_err().contains("as in `15m`"));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// A message about the correct format.
pub fn parse_length(text: &str) -> Result<Span, String> {
    let wrong = || {
        "it is not a duration; use a whole number with us, ms, s, m, h, d or w, as in `15m`"
            .to_owned()
    };
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let unit = Span::of_unit(unit).ok_or_else(wrong)?.as_micros();
    let micros = number.checked_mul(unit).filter(|micros| *micros <= Span::MAX.as_micros());
    micros
        .map(Span::from_micros)
        .ok_or_else(|| "it is too long; use at most 35 years (12775d)".to_owned())
}

/// Parses an amount of memory: `64KiB`, `256MiB`, `1GB`, `4096`.
///
/// # Errors
///
/// A message about the correct format.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || {
        "it is not an amount of memory; \
         use a whole number with KiB, MiB, GiB, KB, MB or GB, as in 256MiB"
            .to_owned()
    };
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let bytes = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    number.checked_mul(bytes).ok_or_else(|| "it is too much; use less than 16 EiB".to_owned())
}

/// Splits a whole number, with `_` between its digits, from its unit.
fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let number = digits.replace('_', "").parse().ok()?;
    Some((number, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_durations_with_units() {
        for (text, micros) in [
            ("200ms", 200_000),
            ("60s", 60_000_000),
            ("15m", 900_000_000),
            ("15 minutes", 900_000_000),
            ("24h", 86_400_000_000),
            ("7 days", 604_800_000_000),
            ("1_000us", 1_000),
        ] {
            assert_eq!(parse_length(text), Ok(Span::from_micros(micros)), "{text}");
        }
        for text in
            ["", "s", "15", "1.5s", "-1s", "15 fortnights", "99999999999999999999s", "40000d"]
        {
            assert!(parse_length(text).is_err(), "{text}");
        }
    }

    #[test]
    fn reads_amounts_of_memory_with_units() {
        for (text, bytes) in
            [("64KiB", 65_536), ("64 MB", 64_000_000), ("1048576", 1 << 20), ("0", 0)]
        {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "much", "1.5GiB", "-1MiB", "256M", "99999999999GiB"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}

//! Numbers with their nouns.

use std::fmt::Display;

/// A number with its noun: `1 rule`, `2 rules`.
pub(crate) fn counted(count: impl Copy + Display + From<u8> + PartialEq, noun: &str) -> String {
    let plural = if count == 1.into() { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        assert_eq!(counted(0_usize, "rule"), "0 rules");
        assert_eq!(counted(1_u64, "rule"), "1 rule");
        assert_eq!(counted(12_usize, "rule"), "12 rules");
    }
}

//! Numbers and comparisons in conditions.

use std::cmp::Ordering;
use std::fmt;

use crate::request::AttributeValue;

/// A number to compare with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Whole(i128),
    Real(f64),
}

impl Number {
    /// Parses a text as a number.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        // `inf`, `nan` and the like are words, not numbers to compare with.
        if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
            return None;
        }
        if let Ok(whole) = text.parse() {
            return Some(Self::Whole(whole));
        }
        text.parse().ok().filter(|real: &f64| real.is_finite()).map(Self::Real)
    }

    /// The number in an attribute, if it is one.
    pub(crate) fn of(value: &AttributeValue<'_>) -> Option<Self> {
        match *value {
            AttributeValue::Text(text) => Self::parse(text),
            AttributeValue::Whole(whole) => Some(Self::Whole(whole.into())),
            AttributeValue::Real(real) => real.is_finite().then_some(Self::Real(real)),
            AttributeValue::Flag(_) => None,
        }
    }

    pub(crate) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => Some(one.cmp(&other)),
            (one, other) => one.real().partial_cmp(&other.real()),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "only if the other number is not whole")]
    fn real(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Real(real) => real,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(whole) => whole.fmt(f),
            Self::Real(real) => real.fmt(f),
        }
    }
}

/// The required order of a number and a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Comparison {
    /// Splits a text into the comparison it begins with and the rest.
    pub(crate) fn strip(text: &str) -> Option<(Self, &str)> {
        // Longer signs first, because each begins with a shorter one.
        [("<=", Self::AtMost), (">=", Self::AtLeast), ("<", Self::Below), (">", Self::Above)]
            .into_iter()
            .find_map(|(sign, comparison)| {
                Some((comparison, text.trim_start().strip_prefix(sign)?))
            })
    }

    pub(crate) fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Below => ordering.is_lt(),
            Self::AtMost => ordering.is_le(),
            Self::Above => ordering.is_gt(),
            Self::AtLeast => ordering.is_ge(),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_compare_exactly_and_others_as_floats() {
        let compare = |one: &str, other: &str| {
            Number::parse(one).unwrap().compare(Number::parse(other).unwrap()).unwrap()
        };
        assert_eq!(compare("9007199254740993", "9007199254740992"), Ordering::Greater);
        assert_eq!(compare("29.5", "30"), Ordering::Less);
        assert_eq!(compare("-3", "2"), Ordering::Less);
        assert_eq!(compare("1e3", "1000"), Ordering::Equal);
        for word in ["", "nan", "inf", "-inf", "thirty", "3 days", "."] {
            assert_eq!(Number::parse(word), None, "{word}");
        }
    }
}

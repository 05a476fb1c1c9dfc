//! Conditions on the values of headers, attributes and other texts.

use std::fmt;

use crate::matching::number::{Comparison, Number};
use crate::request::AttributeValue;

/// A condition on a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    Equals(Box<str>),
    /// A text in which `*` stands for any characters.
    Like(Box<str>),
    AnyOf(Vec<Condition>),
    Not(Box<Condition>),
    Compares(Comparison, Number),
    /// The value is present (`true`) or absent (`false`).
    Present(bool),
    /// A condition whose text must not be shown.
    Hidden(RedactedCondition),
}

/// A condition whose text must not be shown.
#[derive(Clone, PartialEq)]
pub(crate) struct RedactedCondition {
    condition: Box<Condition>,
    /// The text that is shown in its place.
    shown: Box<str>,
}

// Redacted, because debug output may end up in a log.
impl fmt::Debug for RedactedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Condition {
    /// Parses a condition: a comparison, a text with `*`, or a plain text.
    pub(crate) fn of(text: &str) -> Result<Self, NotANumber> {
        if let Some((comparison, rest)) = Comparison::strip(text) {
            let number = Number::parse(rest).ok_or(NotANumber { comparison })?;
            return Ok(Self::Compares(comparison, number));
        }
        let like = text.contains('*');
        Ok(if like { Self::Like(text.into()) } else { Self::Equals(text.into()) })
    }

    /// Hides the condition and shows another text in its place.
    pub(crate) fn shown_as(self, shown: impl Into<Box<str>>) -> Self {
        Self::Hidden(RedactedCondition { condition: Box::new(self), shown: shown.into() })
    }

    /// Whether a value, or its absence, meets the condition.
    pub(crate) fn admits(&self, value: Option<&AttributeValue<'_>>) -> bool {
        match self {
            Self::Equals(text) => value.is_some_and(|value| value.as_text() == **text),
            Self::Like(pattern) => value.is_some_and(|value| {
                matches_wildcard(pattern.as_bytes(), value.as_text().as_bytes())
            }),
            Self::AnyOf(conditions) => conditions.iter().any(|one| one.admits(value)),
            Self::Not(condition) => !condition.admits(value),
            Self::Compares(comparison, bound) => value
                .and_then(Number::of)
                .and_then(|number| number.compare(*bound))
                .is_some_and(|ordering| comparison.holds(ordering)),
            Self::Present(wanted) => value.is_some() == *wanted,
            Self::Hidden(hidden) => hidden.condition.admits(value),
        }
    }

    /// Whether neither any value nor its absence can meet the condition.
    pub(crate) fn is_impossible(&self) -> bool {
        match self {
            Self::AnyOf(conditions) => conditions.iter().all(Self::is_impossible),
            Self::Not(condition) => condition.is_certain(),
            _ => false,
        }
    }

    fn is_certain(&self) -> bool {
        match self {
            Self::Not(condition) => condition.is_impossible(),
            Self::AnyOf(conditions) => conditions.iter().any(Self::is_certain),
            _ => false,
        }
    }
}

/// The error for a comparison without a number after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotANumber {
    pub(crate) comparison: Comparison,
}

/// Whether a text matches a pattern in which `*` stands for any characters.
///
/// Backtracks only to the last star, so the time is at most pattern length times text length.
fn matches_wildcard(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(letter) if *letter == text[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                (at, read) = (place + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == b'*')
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(text) | Self::Like(text) => write!(f, "`{}`", text.escape_debug()),
            Self::AnyOf(conditions) => {
                for (index, condition) in conditions.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { " or " })?;
                    condition.fmt(f)?;
                }
                Ok(())
            }
            Self::Not(condition) => write!(f, "not {condition}"),
            Self::Compares(comparison, number) => write!(f, "{comparison} {number}"),
            Self::Present(true) => f.write_str("present"),
            Self::Present(false) => f.write_str("absent"),
            Self::Hidden(hidden) => f.write_str(&hidden.shown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(condition: &str, value: Option<AttributeValue<'_>>) -> bool {
        Condition::of(condition).unwrap().admits(value.as_ref())
    }

    #[test]
    fn texts_stars_and_comparisons_admit_matching_values() {
        for (condition, value, admitted) in [
            ("free", "free", true),
            ("free", "freed", false),
            ("*bot*", "Googlebot/2.1", true),
            ("*bot*", "curl", false),
            ("a*b*c", "a--b--b-c", true),
            ("a*b*c", "a--b--b-d", false),
            ("*", "", true),
            ("< 30", "29", true),
            ("< 30", "30", false),
            ("<=30", "30", true),
            (">= 18", "18.0", true),
            ("> 18", "adult", false),
        ] {
            assert_eq!(
                admits(condition, Some(AttributeValue::Text(value))),
                admitted,
                "{condition} {value}"
            );
        }
        assert!(admits("< 30", Some(AttributeValue::Whole(12))));
        assert!(admits("true", Some(AttributeValue::Flag(true))));
        assert!(!admits("free", None));
        assert!(!admits("< 30", None), "an absent value does not compare");
        assert_eq!(Condition::of("< many"), Err(NotANumber { comparison: Comparison::Below }));
    }

    #[test]
    fn not_inverts_conditions_also_for_absent_values() {
        let not_free = Condition::Not(Box::new(Condition::Equals("free".into())));
        assert!(not_free.admits(None));
        assert!(not_free.admits(Some(&AttributeValue::Text("gold"))));
        assert!(!not_free.admits(Some(&AttributeValue::Text("free"))));
        assert!(Condition::Present(false).admits(None));
        assert!(Condition::AnyOf(Vec::new()).is_impossible());
    }

    #[test]
    fn a_hidden_condition_admits_the_same_and_is_never_shown() {
        for text in ["canary", "can*ary", "< 4711"] {
            let hidden = Condition::of(text).unwrap().shown_as("`${CANARY}`");
            let not = Condition::Not(Box::new(Condition::AnyOf(vec![hidden.clone()])));
            assert_eq!(hidden.to_string(), "`${CANARY}`");
            assert_eq!(not.to_string(), "not `${CANARY}`");
            let debug = format!("{not:?}");
            assert!(!debug.contains("can") && !debug.contains("4711"), "{debug}");
            for value in ["canary", "can ary", "4710", "other"] {
                let value = AttributeValue::Text(value);
                assert_eq!(hidden.admits(Some(&value)), admits(text, Some(value)), "{text}");
            }
        }
    }

    #[test]
    fn many_stars_do_not_take_exponential_time() {
        let pattern = "a*".repeat(40) + "b";
        let text = "a".repeat(4_000);
        assert!(!matches_wildcard(pattern.as_bytes(), text.as_bytes()));
    }
}

//! What a YAML file says, with the place of every part.

use std::fmt;

use crate::report::shortened;
use crate::source::Span;

/// How much of a value a message repeats.
const SHOWN: usize = 60;

/// A value and where it is written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

/// The four things a value can be. Whether a scalar is a number is for the reader to decide.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A field and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) value: Node,
}

/// The name of a field.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl Key {
    /// The name as a message may repeat it.
    pub(crate) fn shown(&self) -> String {
        shortened(&self.text, SHOWN)
    }
}

/// A single value: the text, and how it came about.
#[derive(Clone)]
pub(crate) struct Scalar {
    text: String,
    quoted: bool,
    secret: bool,
    broken: bool,
    /// The text before variables were filled in, if there were any.
    written: Option<Box<str>>,
}

impl Scalar {
    /// A value that says exactly what is written.
    pub(crate) fn literal(text: impl Into<String>, quoted: bool) -> Self {
        Self { text: text.into(), quoted, secret: false, broken: false, written: None }
    }

    /// A value with variables filled in; `secret` when one of them came from the environment.
    pub(crate) fn filled(text: String, quoted: bool, written: &str, secret: bool) -> Self {
        Self { text, quoted, secret, broken: false, written: Some(written.into()) }
    }

    /// A value that could not be read, which was already reported.
    pub(crate) fn broken(written: &str, quoted: bool) -> Self {
        Self { broken: true, ..Self::literal(written, quoted) }
    }

    /// The value.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is written so that it can be a number or a flag. Where a variable is filled in,
    /// quotes do not count: `{limit: "${LIMIT}"}` needs them.
    pub(crate) fn is_bare(&self) -> bool {
        !self.quoted || self.written.is_some()
    }

    /// Whether part of the text came from the environment.
    pub(crate) fn is_secret(&self) -> bool {
        self.secret
    }

    /// Whether a finding already says that the value could not be read.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// What a message may repeat: short, on one line, and never what the environment said.
    pub(crate) fn shown(&self) -> String {
        let written = self.written.as_deref().filter(|_| self.secret);
        shortened(written.unwrap_or(&self.text), SHOWN)
    }

    /// The whole number that is written, `1_000` included.
    pub(crate) fn whole(&self) -> Option<u64> {
        let digits = || self.text.split('_');
        let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !self.is_bare() || !digits().all(plain) {
            return None;
        }
        digits().collect::<String>().parse().ok()
    }

    /// `true` or `false`, and nothing else.
    pub(crate) fn flag(&self) -> Option<bool> {
        match self.text.as_str() {
            "true" if self.is_bare() => Some(true),
            "false" if self.is_bare() => Some(false),
            _ => None,
        }
    }
}

// What is printed for debugging may end up in a log as well.
impl fmt::Debug for Scalar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.quoted { "\"" } else { "" };
        write!(formatter, "{quote}{}{quote}", self.shown())
    }
}

impl Node {
    /// The value of a field.
    pub(crate) fn get(&self, field: &str) -> Option<&Node> {
        self.entry(field).map(|entry| &entry.value)
    }

    /// A field with its key.
    pub(crate) fn entry(&self, field: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key.text == field)
    }

    /// The fields of a map; none for everything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list. A lone value counts as a list of one, and nothing as an empty list.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.value {
            Value::Null => &[],
            Value::List(items) => items,
            Value::Scalar(_) | Value::Map(_) => std::slice::from_ref(self),
        }
    }

    /// The scalar, if it is one.
    pub(crate) fn scalar(&self) -> Option<&Scalar> {
        match &self.value {
            Value::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The text of a scalar.
    pub(crate) fn text(&self) -> Option<&str> {
        self.scalar().map(Scalar::text)
    }

    /// The whole number that a scalar is.
    pub(crate) fn whole(&self) -> Option<u64> {
        self.scalar().and_then(Scalar::whole)
    }

    /// The `true` or `false` that a scalar is.
    pub(crate) fn flag(&self) -> Option<bool> {
        self.scalar().and_then(Scalar::flag)
    }

    /// Whether nothing is written.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_bare_digits_with_lone_underscores_between() {
        for (text, quoted, expected) in [
            ("0", false, Some(0)),
            ("1_000_000", false, Some(1_000_000)),
            ("18446744073709551615", false, Some(u64::MAX)),
            ("18446744073709551616", false, None),
            ("5", true, None),
            ("_5", false, None),
            ("5_", false, None),
            ("5__0", false, None),
            ("-5", false, None),
            ("+5", false, None),
            ("5.0", false, None),
            ("", false, None),
        ] {
            assert_eq!(Scalar::literal(text, quoted).whole(), expected, "{text}");
        }
        assert_eq!(Scalar::filled("5".to_owned(), true, "${X}", true).whole(), Some(5));
    }

    #[test]
    fn what_the_environment_said_is_never_repeated() {
        let scalar = Scalar::filled("hunter2".to_owned(), false, "${PASSWORD}", true);
        assert_eq!(scalar.text(), "hunter2");
        assert_eq!(scalar.shown(), "${PASSWORD}");
        assert_eq!(format!("{scalar:?}"), "${PASSWORD}");
        assert!(scalar.is_secret());
    }

    #[test]
    fn repeated_values_are_short_and_on_one_line() {
        let scalar = Scalar::literal(format!("a\nb\u{1b}[31m{}", "x".repeat(100)), false);
        assert_eq!(scalar.shown(), format!("a\\nb␛[31m{}…", "x".repeat(52)));
    }
}

//! The tree of a YAML file, with the span of every value.

use std::fmt;

use crate::diagnostics::SourceSpan;
use crate::diagnostics::shortened;

/// The number of characters of a value that a message repeats.
const SHOWN: usize = 60;

/// A value and its place in the file.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its place in the file.
    pub span: SourceSpan,
    /// The value.
    pub value: Value,
}

/// The content of a node.
///
/// Scalars have no type here: the caller decides whether one is a number.
#[derive(Clone, Debug)]
pub enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// A single value.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file.
    Map(Vec<MapEntry>),
}

/// A field and its value.
#[derive(Clone, Debug)]
pub struct MapEntry {
    /// The name.
    pub key: MapKey,
    /// The value.
    pub value: Node,
}

/// The name of a field.
#[derive(Clone, Debug)]
pub struct MapKey {
    /// The text of the name.
    pub text: String,
    /// Its place in the file.
    pub span: SourceSpan,
}

impl MapKey {
    /// Returns the name as a message may repeat it.
    pub fn shown(&self) -> String {
        shortened(&self.text, SHOWN)
    }
}

/// A single value: its text, and how it was written.
#[derive(Clone)]
pub struct Scalar {
    text: String,
    quoted: bool,
    secret: bool,
    broken: bool,
    /// The text before the substitution of variables, if it had any.
    written: Option<Box<str>>,
}

impl Scalar {
    /// Creates a value without variables.
    pub fn literal(text: impl Into<String>, quoted: bool) -> Self {
        Self { text: text.into(), quoted, secret: false, broken: false, written: None }
    }

    /// Creates a value with substituted variables; `secret` if one came from the environment.
    pub fn filled(text: String, quoted: bool, written: &str, secret: bool) -> Self {
        Self { text, quoted, secret, broken: false, written: Some(written.into()) }
    }

    /// Creates a value that could not be read, which is already reported.
    pub fn broken(written: &str, quoted: bool) -> Self {
        Self { broken: true, ..Self::literal(written, quoted) }
    }

    /// Returns the value.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the value can be a number or a flag, which are written without quotes.
    ///
    /// With a variable quotes do not count, because `{limit: "${LIMIT}"}` needs them.
    pub fn is_bare(&self) -> bool {
        !self.quoted || self.written.is_some()
    }

    /// Whether part of the text came from the environment.
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// Whether the value could not be read, which is already reported.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Returns the value as a message may repeat it.
    ///
    /// It is short, on one line, and never contains a value from the environment.
    pub fn shown(&self) -> String {
        let written = self.written.as_deref().filter(|_| self.secret);
        shortened(written.unwrap_or(&self.text), SHOWN)
    }

    /// Returns the whole number that the value is, as in `1_000`.
    pub fn whole(&self) -> Option<u64> {
        let digits = || self.text.split('_');
        let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !self.is_bare() || !digits().all(plain) {
            return None;
        }
        digits().collect::<String>().parse().ok()
    }

    /// Returns the flag that the value is: only `true` and `false` are flags.
    pub fn flag(&self) -> Option<bool> {
        match self.text.as_str() {
            "true" if self.is_bare() => Some(true),
            "false" if self.is_bare() => Some(false),
            _ => None,
        }
    }
}

// Debug output may end up in a log, so it has to hide secrets too.
impl fmt::Debug for Scalar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.quoted { "\"" } else { "" };
        write!(formatter, "{quote}{}{quote}", self.shown())
    }
}

impl Node {
    /// Returns the value of a field.
    pub fn get(&self, field: &str) -> Option<&Node> {
        self.entry(field).map(|entry| &entry.value)
    }

    /// Returns a field with its key.
    pub fn entry(&self, field: &str) -> Option<&MapEntry> {
        self.entries().iter().find(|entry| entry.key.text == field)
    }

    /// Returns the fields of a map; none for other values.
    pub fn entries(&self) -> &[MapEntry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the items of a list; a single value is a list of one, and null an empty list.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::Null => &[],
            Value::List(items) => items,
            Value::Scalar(_) | Value::Map(_) => std::slice::from_ref(self),
        }
    }

    /// Returns the scalar, if the value is one.
    pub fn scalar(&self) -> Option<&Scalar> {
        match &self.value {
            Value::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// Returns the text of a scalar.
    pub fn text(&self) -> Option<&str> {
        self.scalar().map(Scalar::text)
    }

    /// Returns the whole number that a scalar is.
    pub fn whole(&self) -> Option<u64> {
        self.scalar().and_then(Scalar::whole)
    }

    /// Returns the flag that a scalar is.
    pub fn flag(&self) -> Option<bool> {
        self.scalar().and_then(Scalar::flag)
    }

    /// Whether the value is null.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_digits_with_single_underscores_between() {
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
    fn values_from_the_environment_are_never_shown() {
        let scalar = Scalar::filled("hunter2".to_owned(), false, "${PASSWORD}", true);
        assert_eq!(scalar.text(), "hunter2");
        assert_eq!(scalar.shown(), "${PASSWORD}");
        assert_eq!(format!("{scalar:?}"), "${PASSWORD}");
        assert!(scalar.is_secret());
    }

    #[test]
    fn shown_values_are_short_and_on_one_line() {
        let scalar = Scalar::literal(format!("a\nb\u{1b}[31m{}", "x".repeat(100)), false);
        assert_eq!(scalar.shown(), format!("a\\nb␛[31m{}…", "x".repeat(52)));
    }
}

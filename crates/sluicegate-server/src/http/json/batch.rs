//! Parses a list of requests in one body.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::fields::{Fields, JsonField, object};
use sluicegate_http::FieldError;

/// The most requests in a list.
const MAX_ITEMS: usize = 1_000;
/// The most errors that are reported individually.
const MAX_ERRORS: usize = 32;

/// An object that can be an item of a list.
pub(in crate::http) trait FromJson<'a>: Sized {
    /// A valid list, for error messages.
    const EXAMPLE: &'static str;
    /// The fields of an item.
    type Field: JsonField;

    /// Builds an item from its fields; the error lists all errors.
    fn from_fields(fields: &mut Fields<'a, Self::Field>) -> Result<Self, Vec<FieldError>>;

    /// Parses an item; the error lists all errors in it.
    fn read(text: &'a [u8]) -> Result<Self, Vec<FieldError>> {
        Self::from_fields(&mut object(text)?)
    }
}

/// Parses a list; the error lists all errors, each with its index in the list.
pub(in crate::http) fn list<'a, T: FromJson<'a>>(
    body: &'a [u8],
) -> Result<Vec<T>, Vec<FieldError>> {
    // The slow path needs the extent of each item to continue after an error.
    let valid = str::from_utf8(body).ok().and_then(parse_strict);
    valid.map_or_else(|| parse_each(body), Ok)
}

/// Parses a valid list in one pass; `None` if it has an error.
fn parse_strict<'a, T: FromJson<'a>>(text: &'a str) -> Option<Vec<T>> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = StrictList(PhantomData).deserialize(&mut json).ok()?;
    json.end().ok().map(|()| read)
}

/// Parses items up to the first error.
struct StrictList<T>(PhantomData<T>);

impl<'a, T: FromJson<'a>> DeserializeSeed<'a> for StrictList<T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'a>>(self, from: D) -> Result<Vec<T>, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'a, T: FromJson<'a>> Visitor<'a> for StrictList<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut read = Vec::new();
        loop {
            let mut fields = Fields::default();
            if list.next_element_seed(&mut fields)?.is_none() {
                return Ok(read);
            }
            match T::from_fields(&mut fields) {
                Ok(one) if read.len() < MAX_ITEMS => read.push(one),
                // The slow path reports the errors.
                _ => return Err(A::Error::custom("invalid item")),
            }
        }
    }
}

/// Parses each item by itself, so that all errors are found.
fn parse_each<'a, T: FromJson<'a>>(body: &'a [u8]) -> Result<Vec<T>, Vec<FieldError>> {
    let invalid = |detail: String| vec![FieldError::new("body", detail)];
    let list: Vec<&'a RawValue> = serde_json::from_slice(body).map_err(|error| {
        invalid(format!("it is not a list of objects: {error}; send one, as in {}", T::EXAMPLE))
    })?;
    if list.len() > MAX_ITEMS {
        let found = list.len();
        return Err(invalid(format!(
            "it has {found} requests; send at most {MAX_ITEMS} at a time"
        )));
    }
    let mut read = Vec::with_capacity(list.len());
    let mut errors = Vec::new();
    for (index, one) in list.into_iter().enumerate() {
        match T::read(one.get().as_bytes()) {
            Ok(one) => read.push(one),
            Err(found) => {
                errors.extend(found.into_iter().map(|error| {
                    FieldError::new(format!("[{index}].{}", error.field), error.detail)
                }));
            }
        }
    }
    if errors.is_empty() { Ok(read) } else { Err(truncated(errors)) }
}

/// Truncates a long list of errors, and adds the number of those removed.
pub(super) fn truncated(mut errors: Vec<FieldError>) -> Vec<FieldError> {
    let more = errors.len().saturating_sub(MAX_ERRORS);
    errors.truncate(MAX_ERRORS);
    if more > 0 {
        errors.push(FieldError::new("body", format!("there are {more} more errors")));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::json::{ErrorCollector, JsonValue};

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Number;

    impl JsonField for Number {
        const ALL: &'static [Self] = &[Self];
        const EXAMPLE: &'static str = r#"{"number":1}"#;

        fn as_str(self) -> &'static str {
            "number"
        }
    }

    #[derive(Debug, PartialEq)]
    struct One<'a>(JsonValue<'a>);

    impl<'a> FromJson<'a> for One<'a> {
        const EXAMPLE: &'static str = r#"[{"number":1}]"#;
        type Field = Number;

        fn from_fields(fields: &mut Fields<'a, Number>) -> Result<Self, Vec<FieldError>> {
            let mut errors = ErrorCollector::new(fields);
            let found = match fields.take(Number) {
                Some(found) => Some(Self(found)),
                None => errors.add(Number, "it is missing"),
            };
            errors.finish(found)
        }
    }

    #[test]
    fn exactly_the_valid_lists_are_parsed_in_one_pass() {
        let most = format!("[{}]", vec![r#"{"number":1}"#; MAX_ITEMS].join(","));
        let more = format!("[{}]", vec![r#"{"number":1}"#; MAX_ITEMS + 1].join(","));
        for (text, is_valid) in [
            ("[]", true),
            (" [ ] ", true),
            (r#"[{"number":1},{"number":"\u00e9"}, {"number" : [[{"a":null}]]}]"#, true),
            (r#"[{"numb\u0065r":1}]"#, true),
            (&most, true),
            (&more, false),
            ("", false),
            ("[", false),
            ("[],", false),
            ("{}", false),
            ("[1]", false),
            ("[[]]", false),
            ("[{}]", false),
            (r#"[{"number":1},]"#, false),
            (r#"[{"number":1}"#, false),
            (r#"[{"number":1,"number":1}]"#, false),
            (r#"[{"number":1,"other":1}]"#, false),
            // The extent of the item is clear, but its value is invalid.
            (r#"[{"number":1e999}]"#, false),
            (r#"[{"number":"\ud800"}]"#, false),
            (r#"[{"\ud800":1}]"#, false),
        ] {
            let items = parse_each::<One<'_>>(text.as_bytes());
            assert_eq!(items.is_ok(), is_valid, "{text:.60}");
            assert_eq!(parse_strict::<One<'_>>(text), items.ok(), "{text:.60}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_not_a_list() {
        let found = list::<One<'_>>(b"[{\"number\":\"\xff\"}]").unwrap_err();
        assert_eq!(found.len(), 1);
        assert!(found[0].detail.starts_with("it is not a list of objects: "), "{found:?}");
    }
}

//! A list of requests in one body.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::field::{Field, Fields, object};
use crate::http::problem::Mistake;

/// The most requests in a list.
const MOST: usize = 1_000;
/// The most mistakes that are told one by one.
const TOLD: usize = 32;

/// What may stand in a list.
pub(in crate::http) trait Listed<'a>: Sized {
    /// A list that is right, for those whose is not.
    const EXAMPLE: &'static str;
    /// The fields that one may have.
    type Field: Field;

    /// What the fields say; the error lists all mistakes.
    fn of(fields: &mut Fields<'a, Self::Field>) -> Result<Self, Vec<Mistake>>;

    /// Reads one; the error lists all of its mistakes.
    fn read(text: &'a [u8]) -> Result<Self, Vec<Mistake>> {
        Self::of(&mut object(text)?)
    }
}

/// All requests of a list, or all mistakes in it, each with its place in the list.
pub(in crate::http) fn list<'a, T: Listed<'a>>(body: &'a [u8]) -> Result<Vec<T>, Vec<Mistake>> {
    // Where each one ends has to be known only to go on behind a mistake.
    let right = str::from_utf8(body).ok().and_then(faultless);
    right.map_or_else(|| one_by_one(body), Ok)
}

/// All requests of a list in which nothing is wrong, read in one go.
fn faultless<'a, T: Listed<'a>>(text: &'a str) -> Option<Vec<T>> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = Faultless(PhantomData).deserialize(&mut json).ok()?;
    json.end().ok().map(|()| read)
}

/// Reads requests up to the first mistake.
struct Faultless<T>(PhantomData<T>);

impl<'a, T: Listed<'a>> DeserializeSeed<'a> for Faultless<T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'a>>(self, from: D) -> Result<Vec<T>, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'a, T: Listed<'a>> Visitor<'a> for Faultless<T> {
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
            match T::of(&mut fields) {
                Ok(one) if read.len() < MOST => read.push(one),
                // What exactly is wrong is told by whoever reads them one by one.
                _ => return Err(A::Error::custom("a mistake")),
            }
        }
    }
}

/// Each request of a list by itself, so that all mistakes are found.
fn one_by_one<'a, T: Listed<'a>>(body: &'a [u8]) -> Result<Vec<T>, Vec<Mistake>> {
    let wrong = |detail: String| vec![Mistake::new("body", detail)];
    let list: Vec<&'a RawValue> = serde_json::from_slice(body).map_err(|error| {
        wrong(format!("it is not a list of objects: {error}; send one, as in {}", T::EXAMPLE))
    })?;
    if list.len() > MOST {
        let found = list.len();
        return Err(wrong(format!("it has {found} requests; send at most {MOST} at a time")));
    }
    let mut read = Vec::with_capacity(list.len());
    let mut mistakes = Vec::new();
    for (place, one) in list.into_iter().enumerate() {
        match T::read(one.get().as_bytes()) {
            Ok(one) => read.push(one),
            Err(found) => mistakes.extend(found.into_iter().map(|mistake| {
                Mistake::new(format!("[{place}].{}", mistake.field), mistake.detail)
            })),
        }
    }
    if mistakes.is_empty() { Ok(read) } else { Err(shortened(mistakes)) }
}

/// Of a long list of mistakes, the first few and how many more there are.
pub(super) fn shortened(mut mistakes: Vec<Mistake>) -> Vec<Mistake> {
    let more = mistakes.len().saturating_sub(TOLD);
    mistakes.truncate(TOLD);
    if more > 0 {
        mistakes.push(Mistake::new("body", format!("there are {more} more mistakes")));
    }
    mistakes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::reading::{Found, Reader};

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Number;

    impl Field for Number {
        const ALL: &'static [Self] = &[Self];
        const EXAMPLE: &'static str = r#"{"number":1}"#;

        fn as_str(self) -> &'static str {
            "number"
        }
    }

    #[derive(Debug, PartialEq)]
    struct One<'a>(Found<'a>);

    impl<'a> Listed<'a> for One<'a> {
        const EXAMPLE: &'static str = r#"[{"number":1}]"#;
        type Field = Number;

        fn of(fields: &mut Fields<'a, Number>) -> Result<Self, Vec<Mistake>> {
            let mut reader = Reader::of(fields);
            let found = match fields.take(Number) {
                Some(found) => Some(Self(found)),
                None => reader.refuse(Number, "it is missing"),
            };
            reader.finish(found)
        }
    }

    #[test]
    fn a_list_is_read_in_one_go_if_and_only_if_nothing_is_wrong() {
        let most = format!("[{}]", vec![r#"{"number":1}"#; MOST].join(","));
        let more = format!("[{}]", vec![r#"{"number":1}"#; MOST + 1].join(","));
        for (text, right) in [
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
            // Where one ends is clear, but it cannot be read.
            (r#"[{"number":1e999}]"#, false),
            (r#"[{"number":"\ud800"}]"#, false),
            (r#"[{"\ud800":1}]"#, false),
        ] {
            let slowly = one_by_one::<One<'_>>(text.as_bytes());
            assert_eq!(slowly.is_ok(), right, "{text:.60}");
            assert_eq!(faultless::<One<'_>>(text), slowly.ok(), "{text:.60}");
        }
    }

    #[test]
    fn what_is_no_text_is_no_list() {
        let found = list::<One<'_>>(b"[{\"number\":\"\xff\"}]").unwrap_err();
        assert_eq!(found.len(), 1);
        assert!(found[0].detail.starts_with("it is not a list of objects: "), "{found:?}");
    }
}

//! What was found where a value has to stand, whatever it is.
//!
//! A typed reader stops at the first value of another type; this one takes them all, so that
//! every mistake of a body can be told at once.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// Up to here whole numbers are exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A JSON value. Lists and objects have in them what was looked for; deeper ones are read past.
#[derive(Debug, PartialEq)]
pub(in crate::http) enum Found<'a> {
    Null,
    Bool(bool),
    Whole(u64),
    Negative(i64),
    /// A number with a fraction, or beyond 64 bits.
    Number(f64),
    Text(Cow<'a, str>),
    List(Vec<Found<'a>>),
    Object(Vec<(Cow<'a, str>, Found<'a>)>),
}

/// As it reads behind "found".
impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "the boolean {value}"),
            Self::Whole(number) => write!(f, "the number {number}"),
            Self::Negative(number) => write!(f, "the number {number}"),
            Self::Number(number) => write!(f, "the number {number:?}"),
            Self::Text(_) => f.write_str("a string"),
            Self::List(_) => f.write_str("a list"),
            Self::Object(_) => f.write_str("an object"),
        }
    }
}

impl<'de> Deserialize<'de> for Found<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Looking::PAST.deserialize(from)
    }
}

/// How deep lists and objects are looked into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looking {
    pub(super) depth: u8,
}

impl Looking {
    /// Not at all: that there is one is enough.
    pub(super) const PAST: Self = Self { depth: 0 };

    fn deeper(self) -> Option<Self> {
        self.depth.checked_sub(1).map(|depth| Self { depth })
    }
}

impl<'de> DeserializeSeed<'de> for Looking {
    type Value = Found<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Found<'de>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Looking {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Found<'de>, E> {
        Ok(Found::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Found<'de>, E> {
        Ok(Found::Bool(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Found<'de>, E> {
        Ok(Found::Whole(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Found<'de>, E> {
        Ok(u64::try_from(number).map_or(Found::Negative(number), Found::Whole))
    }

    /// JSON has one kind of numbers: `1.0` is as whole as `1`.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and small enough to lose nothing"
    )]
    fn visit_f64<E>(self, number: f64) -> Result<Found<'de>, E> {
        if number.fract() != 0.0 || number.abs() >= EXACT {
            return Ok(Found::Number(number));
        }
        Ok(if number < 0.0 { Found::Negative(number as i64) } else { Found::Whole(number as u64) })
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Found<'de>, E> {
        Ok(Found::Text(Cow::Borrowed(text)))
    }

    /// A text with escapes in it does not stand in the body as it is.
    fn visit_str<E>(self, text: &str) -> Result<Found<'de>, E> {
        Ok(Found::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Found<'de>, A::Error> {
        let mut items = Vec::new();
        match self.deeper() {
            Some(looking) => {
                while let Some(item) = list.next_element_seed(looking)? {
                    items.push(item);
                }
            }
            None => while list.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(Found::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Found<'de>, A::Error> {
        let mut entries = Vec::new();
        match self.deeper() {
            Some(looking) => {
                while let Some(name) = object.next_key_seed(Self::PAST)? {
                    let value = object.next_value_seed(looking)?;
                    // In JSON every name is a text.
                    if let Found::Text(name) = name {
                        entries.push((name, value));
                    }
                }
            }
            None => while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {},
        }
        Ok(Found::Object(entries))
    }
}

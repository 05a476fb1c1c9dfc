//! A JSON value of any type, borrowed from the body.
//!
//! Typed deserialization stops at the first value of a wrong type. This one accepts all types, so
//! that every error of a body can be reported at once.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// The limit below which whole numbers are exact in a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A JSON value. Lists and objects below the requested depth are skipped and left empty.
#[derive(Debug, PartialEq)]
pub(in crate::http) enum JsonValue<'a> {
    Null,
    Bool(bool),
    Whole(u64),
    Negative(i64),
    /// A number with a fraction, or beyond 64 bits.
    Number(f64),
    Text(Cow<'a, str>),
    List(Vec<JsonValue<'a>>),
    Object(Vec<(Cow<'a, str>, JsonValue<'a>)>),
}

/// Formats the value for an error message after "found".
impl fmt::Display for JsonValue<'_> {
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

impl<'de> Deserialize<'de> for JsonValue<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Depth::SKIP.deserialize(from)
    }
}

/// The depth to which lists and objects are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Depth {
    pub(super) depth: u8,
}

impl Depth {
    /// Skips the contents of lists and objects.
    pub(super) const SKIP: Self = Self { depth: 0 };

    fn deeper(self) -> Option<Self> {
        self.depth.checked_sub(1).map(|depth| Self { depth })
    }
}

impl<'de> DeserializeSeed<'de> for Depth {
    type Value = JsonValue<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<JsonValue<'de>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Depth {
    type Value = JsonValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<JsonValue<'de>, E> {
        Ok(JsonValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonValue<'de>, E> {
        Ok(JsonValue::Bool(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<JsonValue<'de>, E> {
        Ok(JsonValue::Whole(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<JsonValue<'de>, E> {
        Ok(u64::try_from(number).map_or(JsonValue::Negative(number), JsonValue::Whole))
    }

    /// Treats `1.0` as a whole number, because JSON has only one type of number.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is whole and in the exact range"
    )]
    fn visit_f64<E>(self, number: f64) -> Result<JsonValue<'de>, E> {
        if number.fract() != 0.0 || number.abs() >= EXACT {
            return Ok(JsonValue::Number(number));
        }
        Ok(if number < 0.0 {
            JsonValue::Negative(number as i64)
        } else {
            JsonValue::Whole(number as u64)
        })
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<JsonValue<'de>, E> {
        Ok(JsonValue::Text(Cow::Borrowed(text)))
    }

    /// Copies a text with escapes, which cannot be borrowed from the body.
    fn visit_str<E>(self, text: &str) -> Result<JsonValue<'de>, E> {
        Ok(JsonValue::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<JsonValue<'de>, A::Error> {
        let mut items = Vec::new();
        match self.deeper() {
            Some(depth) => {
                while let Some(item) = list.next_element_seed(depth)? {
                    items.push(item);
                }
            }
            None => while list.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(JsonValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<JsonValue<'de>, A::Error> {
        let mut entries = Vec::new();
        match self.deeper() {
            Some(depth) => {
                while let Some(name) = object.next_key_seed(Self::SKIP)? {
                    let value = object.next_value_seed(depth)?;
                    // Always a text in JSON.
                    if let JsonValue::Text(name) = name {
                        entries.push((name, value));
                    }
                }
            }
            None => while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {},
        }
        Ok(JsonValue::Object(entries))
    }
}

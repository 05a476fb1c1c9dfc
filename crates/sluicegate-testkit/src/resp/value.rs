//! A value of the protocols RESP2 and RESP3.

use crate::resp::raw::{ParseFailure, RawValue, number};

/// One value, in either version of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum RespValue {
    /// Null.
    Null,
    /// A whole number.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
    /// A boolean.
    Boolean(bool),
    /// A text of any type, or a number too big for the others.
    Text(Vec<u8>),
    /// An error of the server.
    Error(String),
    /// Several values; sets too.
    Array(Vec<RespValue>),
    /// Pairs, in the server's order.
    Map(Vec<(RespValue, RespValue)>),
    /// A message without a request, such as an invalidation.
    Push(Vec<RespValue>),
}

impl RespValue {
    /// The first value in `bytes`, and its length.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, usize), ParseFailure> {
        let (raw, length) = RawValue::read(bytes)?;
        Ok((raw.try_into()?, length))
    }

    /// The value as a number.
    #[track_caller]
    pub fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            other => panic!("expected a whole number from the server, got {other:?}"),
        }
    }

    /// The value as a text.
    #[track_caller]
    pub fn text(&self) -> String {
        match self {
            Self::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("expected a text from the server, got {other:?}"),
        }
    }

    /// The values of a list.
    #[track_caller]
    pub fn items(&self) -> &[RespValue] {
        match self {
            Self::Array(items) => items,
            other => panic!("expected several values from the server, got {other:?}"),
        }
    }

    /// Adds every text and number in it, each on a line, to `plain`.
    pub(crate) fn append_to(&self, plain: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Integer(number) => plain.extend(format!("{number}\n").bytes()),
            Self::Double(number) => plain.extend(format!("{number}\n").bytes()),
            Self::Boolean(yes) => plain.extend(format!("{yes}\n").bytes()),
            Self::Text(bytes) => {
                plain.extend(bytes);
                plain.push(b'\n');
            }
            Self::Error(said) => plain.extend(format!("{said}\n").bytes()),
            Self::Array(items) | Self::Push(items) => {
                for item in items {
                    item.append_to(plain);
                }
            }
            Self::Map(pairs) => {
                for (key, value) in pairs {
                    key.append_to(plain);
                    value.append_to(plain);
                }
            }
        }
    }
}

impl TryFrom<RawValue<'_>> for RespValue {
    type Error = ParseFailure;

    fn try_from(raw: RawValue<'_>) -> Result<Self, ParseFailure> {
        let all = |items: Vec<RawValue<'_>>| {
            items.into_iter().map(Self::try_from).collect::<Result<Vec<_>, _>>()
        };
        let error = |text: &[u8]| Self::Error(String::from_utf8_lossy(text).into_owned());
        Ok(match raw {
            RawValue::Null => Self::Null,
            RawValue::Line(b'+' | b'(', line) => Self::Text(line.to_vec()),
            RawValue::Line(b'-', text) | RawValue::Bulk(b'!', text) => error(text),
            RawValue::Line(b':', line) => Self::Integer(number(line)?),
            RawValue::Line(b',', line) => Self::Double(number(line)?),
            RawValue::Line(b'#', b"t") => Self::Boolean(true),
            RawValue::Line(b'#', b"f") => Self::Boolean(false),
            RawValue::Line(..) => return Err(ParseFailure::Malformed),
            // Three letters and a colon specify the format of the text.
            RawValue::Bulk(b'=', text) => {
                Self::Text(text.get(4..).ok_or(ParseFailure::Malformed)?.to_vec())
            }
            RawValue::Bulk(_, text) => Self::Text(text.to_vec()),
            RawValue::Items(b'>', items) => Self::Push(all(items)?),
            RawValue::Items(b'%', items) => {
                let items = all(items)?;
                Self::Map(items.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
            }
            RawValue::Items(_, items) => Self::Array(all(items)?),
        })
    }
}

#[cfg(test)]
mod tests;

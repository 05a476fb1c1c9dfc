//! What a body asks the rules, or everything that is wrong with it.

use sluicegate_rules::Request;

use super::call::{Call, CallFields};
use crate::http::problem::Mistake;
use crate::http::reading::{self, Fields, Found, Listed, Reader};

/// What a body asks.
#[derive(Debug)]
pub(super) struct CheckBody<'a> {
    call: Call<'a>,
    cost: Option<u64>,
    body_size: Option<u64>,
    reserve: bool,
}

/// A field that a body may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Attributes,
    Headers,
    Peer,
    Cost,
    BodySize,
    Reserve,
}

impl reading::Field for Field {
    const ALL: &'static [Self] =
        &[Self::Attributes, Self::Headers, Self::Peer, Self::Cost, Self::BodySize, Self::Reserve];
    const EXAMPLE: &'static str =
        r#"{"attributes":{"user":"42","method":"POST","path":"/checkout"}}"#;

    fn as_str(self) -> &'static str {
        match self {
            Self::Attributes => "attributes",
            Self::Headers => "headers",
            Self::Peer => "peer",
            Self::Cost => "cost",
            Self::BodySize => "body_size",
            Self::Reserve => "reserve",
        }
    }

    fn depth(self) -> u8 {
        Self::depth_of(self)
    }
}

impl CallFields for Field {
    const ATTRIBUTES: Self = Self::Attributes;
    const HEADERS: Self = Self::Headers;
    const PEER: Self = Self::Peer;
}

impl<'a> Listed<'a> for CheckBody<'a> {
    const EXAMPLE: &'static str = r#"[{"attributes":{"user":"42","path":"/checkout"}}]"#;

    type Field = Field;

    fn of(fields: &mut Fields<'a, Field>) -> Result<Self, Vec<Mistake>> {
        let mut reader = Reader::of(fields);
        let call = Call::read(&mut reader, fields);
        let cost = reader.units(Field::Cost, fields.take(Field::Cost), 0);
        let cost = cost.map(sluicegate::Cost::units);
        let body_size = match fields.take(Field::BodySize) {
            None => None,
            Some(Found::Whole(bytes)) => Some(bytes),
            Some(found) => {
                let detail = format!("found {found}; use a whole number of bytes");
                reader.refuse(Field::BodySize, detail)
            }
        };
        let reserve = match fields.take(Field::Reserve) {
            None => Some(false),
            Some(Found::Bool(reserve)) => Some(reserve),
            Some(found) => {
                let detail = format!("found {found}; use true or false");
                reader.refuse(Field::Reserve, detail)
            }
        };
        let reserve = reserve.unwrap_or_default();
        reader.finish(Some(Self { call, cost, body_size, reserve }))
    }
}

impl CheckBody<'_> {
    /// Whether the cost is an estimate, to be settled later.
    pub(super) fn reserves(&self) -> bool {
        self.reserve
    }

    /// The request that it is about.
    pub(super) fn request(&self) -> Request<'_> {
        let mut request = self.call.request();
        if let Some(cost) = self.cost {
            request = request.cost(cost);
        }
        if let Some(bytes) = self.body_size {
            request = request.body_size(bytes);
        }
        request
    }
}

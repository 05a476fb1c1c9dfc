//! Parses the body of a check.

use sluicegate_http::FieldError;
use sluicegate_rules::Request;

use super::described_request::{DescribedRequest, DescribedRequestFields};
use crate::http::json;
use crate::http::json::{ErrorCollector, Fields, FromJson, JsonValue};

/// The body of a check.
#[derive(Debug)]
pub(super) struct CheckBody<'a> {
    described: DescribedRequest<'a>,
    cost: Option<u64>,
    body_size: Option<u64>,
    reserve: bool,
}

/// A field of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckField {
    Attributes,
    Headers,
    Peer,
    Cost,
    BodySize,
    Reserve,
}

impl json::JsonField for CheckField {
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

impl DescribedRequestFields for CheckField {
    const ATTRIBUTES: Self = Self::Attributes;
    const HEADERS: Self = Self::Headers;
    const PEER: Self = Self::Peer;
}

impl<'a> FromJson<'a> for CheckBody<'a> {
    const EXAMPLE: &'static str = r#"[{"attributes":{"user":"42","path":"/checkout"}}]"#;

    type Field = CheckField;

    fn from_fields(fields: &mut Fields<'a, CheckField>) -> Result<Self, Vec<FieldError>> {
        let mut errors = ErrorCollector::new(fields);
        let described = DescribedRequest::read(&mut errors, fields);
        let cost = errors.units(CheckField::Cost, fields.take(CheckField::Cost), 0);
        let cost = cost.map(sluicegate::Cost::units);
        let body_size = match fields.take(CheckField::BodySize) {
            None => None,
            Some(JsonValue::Whole(bytes)) => Some(bytes),
            Some(found) => {
                let detail = format!("found {found}; use a whole number of bytes");
                errors.add(CheckField::BodySize, detail)
            }
        };
        let reserve = match fields.take(CheckField::Reserve) {
            None => Some(false),
            Some(JsonValue::Bool(reserve)) => Some(reserve),
            Some(found) => {
                let detail = format!("found {found}; use true or false");
                errors.add(CheckField::Reserve, detail)
            }
        };
        let reserve = reserve.unwrap_or_default();
        errors.finish(Some(Self { described, cost, body_size, reserve }))
    }
}

impl CheckBody<'_> {
    /// Returns whether the cost is an estimate, to be settled later.
    pub(super) fn reserves(&self) -> bool {
        self.reserve
    }

    /// Returns the described request.
    pub(super) fn request(&self) -> Request<'_> {
        let mut request = self.described.request();
        if let Some(cost) = self.cost {
            request = request.cost(cost);
        }
        if let Some(bytes) = self.body_size {
            request = request.body_size(bytes);
        }
        request
    }
}

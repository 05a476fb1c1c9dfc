//! Parses the body of `/v1/release` and `/v1/renew`: the slot that `/v1/check` returned.

use std::borrow::Cow;

use sluicegate_http::FieldError;
use sluicegate_rules::InvalidReceipt;

use super::json;
use super::json::{ErrorCollector, JsonField, JsonValue};
use super::request_error::RequestError;

/// The only field of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SlotBody;

impl JsonField for SlotBody {
    const ALL: &'static [Self] = &[Self];
    const EXAMPLE: &'static str = r#"{"slot":"the `slot` that /v1/check returned"}"#;

    fn as_str(self) -> &'static str {
        "slot"
    }
}

/// Returns the slot in a body.
pub(super) fn read(body: &[u8]) -> Result<Cow<'_, str>, Vec<FieldError>> {
    let mut fields = json::object(body)?;
    let mut errors = ErrorCollector::new(&fields);
    let slot = match fields.take(SlotBody) {
        Some(JsonValue::Text(slot)) => Some(slot),
        Some(found) => {
            let detail = format!("found {found}; use the `slot` that /v1/check returned");
            errors.add(SlotBody, detail)
        }
        None => errors.add(SlotBody, "it is missing; send the slot"),
    };
    errors.finish(slot)
}

/// Creates the error of an invalid slot.
pub(super) fn invalid_slot(error: InvalidReceipt) -> RequestError {
    RequestError::invalid(vec![SlotBody.error(error.to_string())])
}

//! JSON bodies: parsed with all errors at once, written without a tree.

mod batch;
mod errors;
mod fields;
mod value;
pub(crate) mod writer;

pub(super) use self::batch::{FromJson, list};
pub(super) use self::errors::ErrorCollector;
pub(super) use self::fields::{Fields, JsonField, object};
pub(super) use self::value::JsonValue;

use super::request_error::RequestError;
use sluicegate_http::FieldError;

/// Combines the values of a query and a body, or the errors of both.
pub(super) fn both<Q, B>(
    query: Result<Q, FieldError>,
    body: Result<B, Vec<FieldError>>,
) -> Result<(Q, B), RequestError> {
    match (query, body) {
        (Ok(query), Ok(body)) => Ok((query, body)),
        (query, body) => {
            let mut errors: Vec<_> = query.err().into_iter().collect();
            errors.extend(body.err().unwrap_or_default());
            Err(RequestError::invalid(errors))
        }
    }
}

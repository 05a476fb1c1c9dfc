//! `POST /v1/release`: releases the slot of a request that has ended.

use serde::Serialize;
use sluicegate::Store;
use sluicegate_rules::{ReleaseOutcome, RuleLimiter};

use crate::http::json;
use crate::http::request_error::RequestError;
use crate::http::{HttpResponse, RequestParts, json_response, query, slot_body};

#[derive(Serialize)]
struct ReleaseBody {
    released: usize,
    gone: usize,
}

/// Releases the concurrency slots of a receipt.
pub(in crate::http) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    parts: RequestParts<'_>,
) -> Result<HttpResponse, RequestError> {
    let no_query = query::none(parts.query);
    let ((), text) = json::both(no_query, slot_body::read(parts.body))?;
    let released = gate.release(&text).await.map_err(slot_body::invalid_slot)?;
    let ReleaseOutcome { released, gone } = released.map_err(RequestError::undecided)?;
    // Serializing numbers does not fail.
    Ok(json_response(serde_json::to_vec(&ReleaseBody { released, gone }).unwrap_or_default()))
}

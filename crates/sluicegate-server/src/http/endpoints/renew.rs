//! `POST /v1/renew`: renews the slot of a request that is still in flight.

use serde::Serialize;
use sluicegate::Store;
use sluicegate_rules::{RenewOutcome, RuleLimiter};

use crate::http::json;
use crate::http::request_error::RequestError;
use crate::http::{HttpResponse, RequestParts, json_response, query, slot_body};

#[derive(Serialize)]
struct RenewBody {
    /// Whether all leases are still held.
    held: bool,
    renewed: usize,
    gone: usize,
    /// The time until the lease expires.
    expires_after_ms: Option<u64>,
}

/// Renews the leases of a receipt.
pub(in crate::http) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    parts: RequestParts<'_>,
) -> Result<HttpResponse, RequestError> {
    let no_query = query::none(parts.query);
    let ((), text) = json::both(no_query, slot_body::read(parts.body))?;
    let renewed = gate.renew(&text).await.map_err(slot_body::invalid_slot)?;
    let RenewOutcome { renewed, gone, lease } = renewed.map_err(RequestError::undecided)?;
    // Rounded down, so that a client renews too early rather than too late.
    let expires_after_ms = lease.map(|lease| lease.as_micros() / 1_000);
    let body = RenewBody { held: gone == 0, renewed, gone, expires_after_ms };
    // Serializing numbers does not fail.
    Ok(json_response(serde_json::to_vec(&body).unwrap_or_default()))
}

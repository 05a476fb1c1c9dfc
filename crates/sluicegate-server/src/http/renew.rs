//! `POST /v1/renew`: a request that holds a slot is still in flight.

use serde::Serialize;
use sluicegate::Store;
use sluicegate_rules::{Renewed, RuleLimiter};

use super::problem::Problem;
use super::{Answer, Asked, json, query, reading, slot};

#[derive(Serialize)]
struct Body {
    /// Whether all of it is still held.
    held: bool,
    renewed: usize,
    gone: usize,
    /// How long it is held if nothing more is heard.
    expires_after_ms: Option<u64>,
}

/// Keeps what a slot stands for, for another lease.
pub(super) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    asked: Asked<'_>,
) -> Result<Answer, Problem> {
    let nothing = query::nothing(asked.query);
    let ((), text) = reading::both(nothing, slot::read(asked.body))?;
    let renewed = gate.renew(&text).await.map_err(slot::none)?;
    let Renewed { renewed, gone, lease } = renewed.map_err(Problem::undecided)?;
    // Rounded down: whoever goes by it comes too early rather than too late.
    let expires_after_ms = lease.map(|lease| lease.as_micros() / 1_000);
    let body = Body { held: gone == 0, renewed, gone, expires_after_ms };
    // Writing numbers to memory does not fail.
    Ok(json(serde_json::to_vec(&body).unwrap_or_default()))
}

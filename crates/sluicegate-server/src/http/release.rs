//! `POST /v1/release`: a request that held a slot has ended.

use serde::Serialize;
use sluicegate::Store;
use sluicegate_rules::{Released, RuleLimiter};

use super::problem::Problem;
use super::{Answer, Asked, json, query, reading, slot};

#[derive(Serialize)]
struct Body {
    released: usize,
    gone: usize,
}

/// Gives back what a slot stands for.
pub(super) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    asked: Asked<'_>,
) -> Result<Answer, Problem> {
    let nothing = query::nothing(asked.query);
    let ((), text) = reading::both(nothing, slot::read(asked.body))?;
    let released = gate.release(&text).await.map_err(slot::none)?;
    let Released { released, gone } = released.map_err(Problem::undecided)?;
    // Writing numbers to memory does not fail.
    Ok(json(serde_json::to_vec(&Body { released, gone }).unwrap_or_default()))
}

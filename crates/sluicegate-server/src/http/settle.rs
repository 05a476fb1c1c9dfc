//! `POST /v1/settle`: what a request with a reservation really cost.

use std::borrow::Cow;

use serde::Serialize;
use sluicegate::{Cost, Decision, Refusal, Store};
use sluicegate_rules::{RuleLimiter, Settled, SettledLimit};

use super::problem::{Mistake, Problem};
use super::reading::{self, Field as _, Found, Reader};
use super::{Answer, Asked, json, query};

/// A field that a body may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Reservation,
    Cost,
}

impl reading::Field for Field {
    const ALL: &'static [Self] = &[Self::Reservation, Self::Cost];
    const EXAMPLE: &'static str =
        r#"{"reservation":"the text of `reservation` that /v1/check answered","cost":120}"#;

    fn as_str(self) -> &'static str {
        match self {
            Self::Reservation => "reservation",
            Self::Cost => "cost",
        }
    }
}

/// What became of a reservation.
#[derive(Serialize)]
struct Body<'a> {
    /// Whether this has settled it.
    settled: bool,
    reason: Option<&'static str>,
    cost: u64,
    decisions: Vec<Made<'a>>,
}

/// What became of one limit's charge.
#[derive(Serialize)]
struct Made<'a> {
    rule: Option<&'a str>,
    limit_name: &'a str,
    algorithm: Option<&'static str>,
    settled: bool,
    reason: Option<&'static str>,
    estimated: u64,
    /// What is charged now.
    charged: Option<u64>,
    limit: Option<u64>,
    remaining: Option<u64>,
    reset_after_ms: Option<u64>,
}

/// Corrects everything that was charged to what it came to.
pub(super) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    asked: Asked<'_>,
) -> Result<Answer, Problem> {
    let nothing = query::nothing(asked.query);
    let ((), (text, cost)) = reading::both(nothing, read(asked.body))?;
    let settled = gate
        .settle(&text, cost)
        .await
        .map_err(|error| Problem::mistaken(vec![Field::Reservation.mistake(error.to_string())]))?;
    let settled = settled.map_err(Problem::undecided)?;
    // Writing texts and numbers to memory does not fail.
    Ok(json(serde_json::to_vec(&Body::of(&settled, cost)).unwrap_or_default()))
}

fn read(body: &[u8]) -> Result<(Cow<'_, str>, Cost), Vec<Mistake>> {
    let mut fields = reading::object(body)?;
    let mut reader = Reader::of(&fields);
    let text = match fields.take(Field::Reservation) {
        Some(Found::Text(text)) => Some(text),
        Some(found) => {
            let detail = format!("found {found}; use the text of `reservation` that was answered");
            reader.refuse(Field::Reservation, detail)
        }
        None => {
            reader.refuse(Field::Reservation, "it is missing; say which reservation is settled")
        }
    };
    let cost = match fields.take(Field::Cost) {
        None => reader.refuse(Field::Cost, "it is missing; say what the request cost"),
        found => reader.units(Field::Cost, found, 0),
    };
    reader.finish(text.zip(cost))
}

impl<'a> Body<'a> {
    fn of(settled: &'a Settled, cost: Cost) -> Self {
        Self {
            settled: settled.is_settled(),
            reason: settled.refusal().map(Refusal::as_str),
            cost: cost.units(),
            decisions: settled.limits.iter().map(Made::of).collect(),
        }
    }
}

impl<'a> Made<'a> {
    fn of(one: &'a SettledLimit) -> Self {
        let decision = one.decision.as_ref();
        let settled = decision.is_some_and(Decision::is_allowed);
        let lost = Some(Refusal::Lost).filter(|_| decision.is_none());
        let reason = decision.map_or(lost, Decision::refusal);
        Self {
            rule: one.of.as_ref().map(|(rule, _)| &**rule),
            limit_name: &one.limit,
            algorithm: one.of.as_ref().map(|(_, algorithm)| *algorithm),
            settled,
            reason: reason.map(Refusal::as_str),
            estimated: one.estimated,
            charged: decision.filter(|_| settled).map(Decision::granted),
            limit: decision.map(Decision::limit),
            remaining: decision.map(Decision::remaining),
            reset_after_ms: decision.map(|made| made.reset_after().as_millis_ceil()),
        }
    }
}

//! `POST /v1/settle`: settles a reservation with the actual cost of the request.

use std::borrow::Cow;

use serde::Serialize;
use sluicegate::{Cost, Decision, Refusal, Store};
use sluicegate_http::FieldError;
use sluicegate_rules::{RuleLimiter, SettleOutcome, SettledLimit};

use crate::http::json;
use crate::http::json::{ErrorCollector, JsonField as _, JsonValue};
use crate::http::request_error::RequestError;
use crate::http::{HttpResponse, RequestParts, json_response, query};

/// A field of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettleField {
    Reservation,
    Cost,
}

impl json::JsonField for SettleField {
    const ALL: &'static [Self] = &[Self::Reservation, Self::Cost];
    const EXAMPLE: &'static str =
        r#"{"reservation":"the `reservation` that /v1/check returned","cost":120}"#;

    fn as_str(self) -> &'static str {
        match self {
            Self::Reservation => "reservation",
            Self::Cost => "cost",
        }
    }
}

/// The response: the outcome of the settlement.
#[derive(Serialize)]
struct SettleBody<'a> {
    /// Whether this request has settled the reservation.
    settled: bool,
    reason: Option<&'static str>,
    cost: u64,
    decisions: Vec<SettleResponse<'a>>,
}

/// The outcome for one limit.
#[derive(Serialize)]
struct SettleResponse<'a> {
    rule: Option<&'a str>,
    limit_name: &'a str,
    algorithm: Option<&'static str>,
    settled: bool,
    reason: Option<&'static str>,
    estimated: u64,
    /// The units charged after the settlement.
    charged: Option<u64>,
    limit: Option<u64>,
    remaining: Option<u64>,
    reset_after_ms: Option<u64>,
}

/// Corrects all charges of a reservation to the actual cost.
pub(in crate::http) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    parts: RequestParts<'_>,
) -> Result<HttpResponse, RequestError> {
    let no_query = query::none(parts.query);
    let ((), (text, cost)) = json::both(no_query, read(parts.body))?;
    let settled = gate.settle(&text, cost).await.map_err(|error| {
        RequestError::invalid(vec![SettleField::Reservation.error(error.to_string())])
    })?;
    let settled = settled.map_err(RequestError::undecided)?;
    // Serializing texts and numbers does not fail.
    Ok(json_response(serde_json::to_vec(&SettleBody::of(&settled, cost)).unwrap_or_default()))
}

fn read(body: &[u8]) -> Result<(Cow<'_, str>, Cost), Vec<FieldError>> {
    let mut fields = json::object(body)?;
    let mut errors = ErrorCollector::new(&fields);
    let text = match fields.take(SettleField::Reservation) {
        Some(JsonValue::Text(text)) => Some(text),
        Some(found) => {
            let detail = format!("found {found}; use the `reservation` that /v1/check returned");
            errors.add(SettleField::Reservation, detail)
        }
        None => {
            errors.add(SettleField::Reservation, "it is missing; send the reservation to settle")
        }
    };
    let cost = match fields.take(SettleField::Cost) {
        None => errors.add(SettleField::Cost, "it is missing; send the actual cost of the request"),
        found => errors.units(SettleField::Cost, found, 0),
    };
    errors.finish(text.zip(cost))
}

impl<'a> SettleBody<'a> {
    fn of(settled: &'a SettleOutcome, cost: Cost) -> Self {
        Self {
            settled: settled.is_settled(),
            reason: settled.refusal().map(Refusal::as_str),
            cost: cost.units(),
            decisions: settled.limits.iter().map(SettleResponse::of).collect(),
        }
    }
}

impl<'a> SettleResponse<'a> {
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
            reset_after_ms: decision.map(|decision| decision.reset_after().as_millis_ceil()),
        }
    }
}

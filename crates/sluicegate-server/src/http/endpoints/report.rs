//! `POST /v1/report`: reports the outcome of a request to rules with a cooldown.

mod body;

use sluicegate::{DecidedBy, Decision, Operation, Span, Store};
use sluicegate_http::is_unasked;
use sluicegate_rules::{Evaluation, Mode, PlanOutcome, RuleLimiter};

use self::body::ReportBody;
use crate::http::json;
use crate::http::json::writer::{JsonWriter, name};
use crate::http::request_error::RequestError;
use crate::http::response::DecisionJson;
use crate::http::{HttpResponse, RequestParts, json_response, query};

/// The response: the effects of a report.
struct ReportResponse<'a> {
    /// The number of rules that counted it as a failure …
    counted: u64,
    /// … and of those that counted it as a successful attempt.
    settled: u64,
    /// Whether the caller is blocked now …
    blocked: bool,
    /// … and for how long.
    retry_after_ms: Option<u64>,
    /// The decider, if it is not the store.
    by: Option<&'static str>,
    decisions: Vec<DecisionJson<'a>>,
}

/// Charges the cooldowns of the rules that apply.
pub(in crate::http) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    parts: RequestParts<'_>,
) -> Result<HttpResponse, RequestError> {
    let no_query = query::none(parts.query);
    let ((), report) = json::both(no_query, ReportBody::read(parts.body))?;
    let request = report.request();
    let response = gate.check(&request, |evaluation| response(&ReportResponse::of(evaluation)));
    response.await.map_err(RequestError::undecided)
}

fn response(body: &ReportResponse<'_>) -> HttpResponse {
    let mut out = Vec::new();
    let mut object = JsonWriter::begin(&mut out);
    object.number(name!("counted"), body.counted);
    object.number(name!("settled"), body.settled);
    object.flag(name!("blocked"), body.blocked);
    object.number_if(name!("retry_after_ms"), body.retry_after_ms);
    object.text_maybe(name!("by"), body.by);
    object.list(name!("decisions"), &body.decisions, DecisionJson::write);
    object.end();
    json_response(out)
}

impl<'a> ReportResponse<'a> {
    const EMPTY: Self = Self {
        counted: 0,
        settled: 0,
        blocked: false,
        retry_after_ms: None,
        by: None,
        decisions: Vec::new(),
    };

    fn of(evaluation: &'a Evaluation<'a>) -> Self {
        let planned = evaluation.planned;
        let Some(verdict) = evaluation.verdict else {
            return Self { blocked: planned.outcome() == PlanOutcome::Blocked, ..Self::EMPTY };
        };
        let (mut body, mut retry_after) = (Self::EMPTY, None::<Span>);
        let decisions = planned.plan().checks().iter().zip(verdict.decisions()).enumerate();
        for (index, (check, decision)) in decisions {
            let Some(decision) = decision else { continue };
            match check.operation() {
                Operation::Charge(_) => {
                    body.counted += u64::from(decision.granted() > 0);
                    continue;
                }
                Operation::Refund(_) => {
                    body.settled += u64::from(decision.granted() > 0);
                    continue;
                }
                _ => {}
            }
            // After each report, a check reads the resulting state.
            let rule = planned.rule(index);
            if rule.is_some_and(|rule| rule.mode() == Mode::Enforce) {
                body.blocked |= !decision.is_allowed();
                retry_after = retry_after.max(Decision::retry_after(decision));
            }
            let unknown = is_unasked(check, verdict);
            let json = DecisionJson::of(rule, check, decision, true);
            body.decisions.push(if unknown { json.without_state() } else { json });
        }
        body.by = (verdict.by() != DecidedBy::Store).then_some(verdict.by().as_str());
        Self { retry_after_ms: retry_after.map(Span::as_millis_ceil), ..body }
    }
}

//! `POST /v1/report`: reports the outcome of a request to rules with a cooldown.

mod body;

use sluicegate::{DecidedBy, Operation, Span, Store};
use sluicegate_http::{LimitOutcome, RateLimitInfo};
use sluicegate_rules::{Evaluation, Mode, PlanOutcome, RuleLimiter};

use self::body::ReportBody;
use crate::http::json;
use crate::http::json::writer::{JsonWriter, name};
use crate::http::request_error::RequestError;
use crate::http::response::write_limit;
use crate::http::{HttpResponse, RequestParts, json_response, query};

/// Charges the cooldowns of the rules that apply.
pub(in crate::http) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    parts: RequestParts<'_>,
) -> Result<HttpResponse, RequestError> {
    let no_query = query::none(parts.query);
    let ((), report) = json::both(no_query, ReportBody::read(parts.body))?;
    let request = report.request();
    gate.check(&request, response).await.map_err(RequestError::undecided)
}

/// Writes the effects of a report: its charges, and the state after each.
fn response(evaluation: &Evaluation<'_>) -> HttpResponse {
    let info = RateLimitInfo::of(evaluation);
    let granted = |operation: fn(&Operation) -> bool| {
        let limits = info.limits().filter(move |limit| operation(&limit.check.operation()));
        limits.filter(|limit| limit.decision.granted() > 0).count() as u64
    };
    // After each charge, a check reads the resulting state.
    let peeks = || info.limits().filter(|limit| is_peek(limit));
    let enforced = || peeks().filter(|it| it.rule.is_some_and(|rule| rule.mode() == Mode::Enforce));
    let listed = evaluation.planned.outcome() == PlanOutcome::Blocked;
    let retry_after = enforced().filter_map(|limit| limit.decision.retry_after()).max();
    let mut out = Vec::new();
    let mut object = JsonWriter::begin(&mut out);
    object.number(name!("counted"), granted(|it| matches!(it, Operation::Charge(_))));
    object.number(name!("settled"), granted(|it| matches!(it, Operation::Refund(_))));
    object.flag(name!("blocked"), listed || enforced().any(|limit| !limit.decision.is_allowed()));
    object.number_if(name!("retry_after_ms"), retry_after.map(Span::as_millis_ceil));
    let by = Some(info.by()).filter(|by| *by != DecidedBy::Store);
    object.text_maybe(name!("by"), by.map(DecidedBy::as_str));
    object.list(name!("decisions"), peeks(), |limit, object| write_limit(&info, &limit, object));
    object.end();
    json_response(out)
}

fn is_peek(limit: &LimitOutcome<'_>) -> bool {
    matches!(limit.check.operation(), Operation::Take(_))
}

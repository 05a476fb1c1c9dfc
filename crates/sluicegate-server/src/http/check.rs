//! `POST /v1/check`: the request says what is known of a call; the rules decide.

pub(super) mod batch;
mod call;
mod request;

use sluicegate::{Clock, Store};
use sluicegate_rules::{Answered, RuleLimiter};
use tracing::debug;

pub(super) use self::call::{Call, CallFields};
use self::request::CheckBody;
use super::problem::Problem;
use super::reading::{self, Listed};
use super::verdict::Decided;
use super::{Answer, Asked, query};
use crate::metrics::Metrics;

/// Request, plan, store, verdict, response.
pub(super) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    metrics: &Metrics,
    asked: Asked<'_>,
) -> Result<Answer, Problem> {
    let deny_status = query::deny_status(asked.query, &query::ANY_STATUS);
    let (deny_status, check) = reading::both(deny_status, CheckBody::read(asked.body))?;
    let request = check.request();
    let answered = gate.decide(&request, |answered| {
        let now = || gate.limiter().store().clock().now();
        let reservation = check.reserves().then(|| answered.reservation()).flatten();
        decided(metrics, answered).reserved(reservation).into_answer(deny_status, now)
    });
    answered.await.map_err(Problem::undecided)
}

/// Counts what became of a request, and what is said about it.
pub(super) fn decided<'a>(metrics: &Metrics, answered: &'a Answered<'a>) -> Decided<'a> {
    metrics.answered_by_rules(answered);
    let decided = Decided::answered(answered);
    if let Some(reason) = decided.reason() {
        debug!(rule = decided.rule(), reason, "refused");
    }
    decided
}

//! `POST /v1/throttle`: the request brings key and quota; the answer is a verdict.

pub(super) mod batch;
mod limits;
mod request;

use std::slice::from_ref;

use sluicegate::{Check, CheckError, Clock, Limiter, Plan, Store, Verdict};
use sluicegate_rules::{HeaderSettings, RuleLimiter};
use tracing::debug;

use self::request::Throttle;
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
    let (deny_status, throttle) = reading::both(deny_status, Throttle::read(asked.body))?;

    let (check, limiter) = (throttle.check(), gate.limiter());
    let verdict = match limiter.check_at_once(&check) {
        Some(decision) => Verdict::of_one(&check, decision),
        // Set aside: who does not have to wait needs no room for it.
        None => Box::pin(wait_for(limiter, check)).await.map_err(Problem::undecided)?,
    };

    count(metrics, &throttle, &verdict);
    let rules = gate.rules();
    let decided = decided(&throttle, from_ref(&check), &verdict, rules.headers());
    Ok(decided.into_answer(deny_status, || gate.limiter().store().clock().now()))
}

/// Asks a store that cannot answer at once.
async fn wait_for<S: Store>(limiter: &Limiter<S>, check: Check<'_>) -> Result<Verdict, CheckError> {
    limiter.check_plan(&plan(check)).await
}

/// The plan of one check.
fn plan(check: Check<'_>) -> Plan<'_> {
    let mut plan = Plan::new();
    plan.require(check);
    plan
}

fn decided<'a>(
    throttle: &Throttle<'_>,
    checks: &'a [Check<'a>],
    verdict: &'a Verdict,
    settings: &'a HeaderSettings,
) -> Decided<'a> {
    Decided::by_rule("throttle", checks, verdict, throttle.cost.units(), settings)
}

/// Counts a verdict.
fn count(metrics: &Metrics, throttle: &Throttle<'_>, verdict: &Verdict) {
    metrics.throttled(throttle.algorithm, verdict);
    if !verdict.is_allowed() {
        debug!(algorithm = throttle.algorithm.as_str(), "refused");
    }
}

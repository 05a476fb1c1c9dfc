//! `POST /v1/throttle`: the request brings key and quota; the answer is a verdict.

pub(super) mod batch;
mod request;

use tollgate::{Check, Clock, Plan, Store, Verdict};
use tollgate_rules::{HeaderSettings, Tollgate};
use tracing::debug;

use self::request::Throttle;
use super::problem::Problem;
use super::reading::{self, Listed};
use super::verdict::Decided;
use super::{Answer, Asked, query};
use crate::metrics::Metrics;

/// Request, plan, store, verdict, response.
pub(super) async fn answer<S: Store>(
    gate: &Tollgate<S>,
    metrics: &Metrics,
    asked: Asked<'_>,
) -> Result<Answer, Problem> {
    let deny_status = query::deny_status(asked.query);
    let (deny_status, throttle) = reading::both(deny_status, Throttle::read(asked.body))?;

    let plan = plan(&throttle);
    let verdict = gate.limiter().check_plan(&plan).await.map_err(Problem::undecided)?;

    count(metrics, &throttle, &verdict);
    let rules = gate.rules();
    let decided = decided(&throttle, &plan, &verdict, rules.headers());
    Ok(decided.into_answer(deny_status, || gate.limiter().store().clock().now()))
}

/// The plan of what a body asks for.
fn plan<'a>(throttle: &'a Throttle<'_>) -> Plan<'a> {
    let mut plan = Plan::new();
    plan.require(Check::new(&throttle.limit, throttle.key.as_ref()).cost(throttle.cost));
    plan
}

fn decided<'a>(
    throttle: &Throttle<'_>,
    plan: &'a Plan<'a>,
    verdict: &'a Verdict,
    settings: &'a HeaderSettings,
) -> Decided<'a> {
    Decided::by_rule("throttle", plan, verdict, throttle.cost.units(), settings)
}

/// Counts a verdict.
fn count(metrics: &Metrics, throttle: &Throttle<'_>, verdict: &Verdict) {
    metrics.throttled(throttle.algorithm, verdict);
    if !verdict.is_allowed() {
        debug!(algorithm = throttle.algorithm.as_str(), "refused");
    }
}

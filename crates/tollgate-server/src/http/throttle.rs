//! `POST /v1/throttle`: the request brings key and quota; the answer is a verdict.

pub(super) mod batch;
mod field;
mod found;
mod query;
mod request;
mod spelling;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use tollgate::{Check, CheckError, Limiter, Plan, Store, Verdict};
use tracing::debug;

use self::request::Throttle;
use super::problem::Problem;
use super::verdict::Decided;
use super::{Answer, body};
use crate::metrics::Metrics;

/// Request, plan, store, verdict, response.
pub(super) async fn answer<S: Store>(
    limiter: &Limiter<S>,
    metrics: &Metrics,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    let refused = query::deny_status(request.uri().query());
    let body = body::read(request).await?;
    let (throttle, refused) = match (Throttle::read(&body), refused) {
        (Ok(throttle), Ok(refused)) => (throttle, refused.unwrap_or(StatusCode::TOO_MANY_REQUESTS)),
        // Whoever has made mistakes in both places hears of all of them.
        (throttle, refused) => {
            let mut mistakes: Vec<_> = refused.err().into_iter().collect();
            mistakes.extend(throttle.err().unwrap_or_default());
            return Err(Problem::mistaken(mistakes));
        }
    };

    let plan = plan(&throttle);
    let verdict = limiter.check_plan(&plan).await.map_err(undecided)?;

    count(metrics, &throttle, &verdict);
    let decided =
        Decided { rule: "throttle", plan: &plan, verdict: &verdict, cost: throttle.cost, refused };
    Ok(decided.into_answer())
}

/// The plan of what a body asks for.
fn plan<'a>(throttle: &'a Throttle<'_>) -> Plan<'a> {
    let mut plan = Plan::new();
    plan.require(Check::new(&throttle.limit, throttle.key.as_ref()).cost(throttle.cost));
    plan
}

/// Counts a verdict.
fn count(metrics: &Metrics, throttle: &Throttle<'_>, verdict: &Verdict) {
    metrics.throttled(throttle.algorithm, verdict);
    if !verdict.is_allowed() {
        debug!(algorithm = throttle.algorithm.as_str(), "refused");
    }
}

#[allow(clippy::needless_pass_by_value, reason = "made to be handed to `map_err`")]
fn undecided(error: CheckError) -> Problem {
    Problem::undecided(error.to_string())
}

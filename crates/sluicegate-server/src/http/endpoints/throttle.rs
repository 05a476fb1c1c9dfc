//! `POST /v1/throttle`: decides a key under the quota of the request.

pub(in crate::http) mod batch;
mod body;

use std::slice::from_ref;

use sluicegate::{Check, CheckError, Clock, Limiter, Plan, Store, Verdict};
use sluicegate_http::RateLimitInfo;
use sluicegate_rules::{HeaderSettings, RuleLimiter};
use tracing::debug;

use self::body::ThrottleBody;
use crate::http::json;
use crate::http::json::FromJson;
use crate::http::request_error::RequestError;
use crate::http::response::CheckResponse;
use crate::http::{HttpResponse, RequestParts, query};
use crate::metrics::Metrics;

/// Decides one throttle.
pub(in crate::http) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    metrics: &Metrics,
    parts: RequestParts<'_>,
) -> Result<HttpResponse, RequestError> {
    let deny_status = query::deny_status(parts.query, &query::ANY_STATUS);
    let (deny_status, throttle) = json::both(deny_status, ThrottleBody::read(parts.body))?;

    let (check, limiter) = (throttle.check(), gate.limiter());
    let verdict = match limiter.try_check(&check) {
        Some(decision) => Verdict::of_one(&check, decision),
        // Boxed, because the future is large and rarely needed.
        None => Box::pin(wait_for(limiter, check)).await.map_err(RequestError::undecided)?,
    };

    count(metrics, &throttle, &verdict);
    let rules = gate.rules();
    let response = response(&throttle, from_ref(&check), &verdict, rules.headers());
    Ok(response.into_answer(deny_status, || gate.limiter().store().clock().now()))
}

/// Decides a check on a store that has to be waited for.
async fn wait_for<S: Store>(limiter: &Limiter<S>, check: Check<'_>) -> Result<Verdict, CheckError> {
    limiter.check_plan(&plan(check)).await
}

/// Returns a plan with one check.
fn plan(check: Check<'_>) -> Plan<'_> {
    let mut plan = Plan::new();
    plan.require(check);
    plan
}

fn response<'a>(
    throttle: &ThrottleBody<'_>,
    checks: &'a [Check<'a>],
    verdict: &'a Verdict,
    settings: &'a HeaderSettings,
) -> CheckResponse<'a> {
    let cost = throttle.cost.units();
    CheckResponse::new(RateLimitInfo::named("throttle", checks, verdict, cost, settings))
}

/// Counts a verdict.
fn count(metrics: &Metrics, throttle: &ThrottleBody<'_>, verdict: &Verdict) {
    metrics.throttled(throttle.algorithm, verdict);
    if !verdict.is_allowed() {
        debug!(algorithm = throttle.algorithm.as_str(), "refused");
    }
}

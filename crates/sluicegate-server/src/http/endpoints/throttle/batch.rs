//! `POST /v1/throttle/batch`: a list of throttles, answered with a list of verdicts.
//!
//! Each is decided by itself, in the order of the list; their counters are prefetched together.

use std::slice::from_ref;

use sluicegate::{Check, CheckError, Limiter, Plan, Store, Verdict};
use sluicegate_rules::RuleLimiter;

use super::body::ThrottleBody;
use super::{count, plan, response};
use crate::http::json;
use crate::http::request_error::RequestError;
use crate::http::response::Verdicts;
use crate::http::{HttpResponse, RequestParts, json_response, query};
use crate::metrics::Metrics;

/// Decides a list of throttles; the status is always 200.
pub(in crate::http) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    metrics: &Metrics,
    parts: RequestParts<'_>,
) -> Result<HttpResponse, RequestError> {
    let no_query = query::none(parts.query);
    let ((), throttles) = json::both(no_query, json::list::<ThrottleBody<'_>>(parts.body))?;
    let checks: Vec<Check<'_>> = throttles.iter().map(ThrottleBody::check).collect();
    let mut decisions = Vec::with_capacity(checks.len());
    let decided = gate.limiter().try_check_batch(&checks, |made| decisions.push(*made));
    let later = match &checks[decided..] {
        [] => Vec::new(),
        // Boxed, because the future is large and rarely needed.
        others => Box::pin(wait_for(gate.limiter(), others)).await,
    };

    let rules = gate.rules();
    let mut verdicts = Verdicts::with_capacity(checks.len());
    let add = |verdicts: &mut Verdicts, throttle: &ThrottleBody<'_>, verdict: &Verdict, check| {
        count(metrics, throttle, verdict);
        verdicts.add(&response(throttle, from_ref(check), verdict, rules.headers()));
    };
    for ((throttle, check), decision) in throttles.iter().zip(&checks).zip(decisions) {
        add(&mut verdicts, throttle, &Verdict::of_one(check, decision), check);
    }
    for ((throttle, check), verdict) in throttles.iter().zip(&checks).skip(decided).zip(&later) {
        match verdict {
            Ok(verdict) => add(&mut verdicts, throttle, verdict, check),
            Err(error) => verdicts.add_undecided(error),
        }
    }
    Ok(json_response(verdicts.finish()))
}

/// Decides checks on a store that has to be waited for.
async fn wait_for<S: Store>(
    limiter: &Limiter<S>,
    checks: &[Check<'_>],
) -> Vec<Result<Verdict, CheckError>> {
    let plans: Vec<Plan<'_>> = checks.iter().map(|check| plan(*check)).collect();
    limiter.check_batch(&plans).await
}

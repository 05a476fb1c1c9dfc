//! `POST /v1/throttle/batch`: a list of what `/v1/throttle` takes, answered by a list of verdicts.
//!
//! Each is decided by itself, in the order of the list, and what all need is fetched together.

use std::slice::from_ref;

use sluicegate::{Check, CheckError, Limiter, Plan, Store, Verdict};
use sluicegate_rules::RuleLimiter;

use super::request::Throttle;
use super::{count, decided, plan};
use crate::http::problem::Problem;
use crate::http::verdict::Verdicts;
use crate::http::{Answer, Asked, json, query, reading};
use crate::metrics::Metrics;

/// A list of requests; the answer is 200 whatever the verdicts are.
pub(in crate::http) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    metrics: &Metrics,
    asked: Asked<'_>,
) -> Result<Answer, Problem> {
    let nothing = query::nothing(asked.query);
    let ((), throttles) = reading::both(nothing, reading::list::<Throttle<'_>>(asked.body))?;
    let checks: Vec<Check<'_>> = throttles.iter().map(Throttle::check).collect();
    let mut decisions = Vec::with_capacity(checks.len());
    let at_once = gate.limiter().check_many_at_once(&checks, &mut decisions);
    let later = match checks.get(at_once..) {
        None | Some([]) => Vec::new(),
        // Set aside: who does not have to wait needs no room for it.
        Some(others) => Box::pin(wait_for(gate.limiter(), others)).await,
    };

    let rules = gate.rules();
    let mut verdicts = Verdicts::with_capacity(checks.len());
    let tell = |verdicts: &mut Verdicts, throttle: &Throttle<'_>, verdict: &Verdict, check| {
        count(metrics, throttle, verdict);
        verdicts.add(&decided(throttle, from_ref(check), verdict, rules.headers()));
    };
    for ((throttle, check), decision) in throttles.iter().zip(&checks).zip(decisions) {
        tell(&mut verdicts, throttle, &Verdict::of_one(check, decision), check);
    }
    for ((throttle, check), verdict) in throttles.iter().zip(&checks).skip(at_once).zip(&later) {
        match verdict {
            Ok(verdict) => tell(&mut verdicts, throttle, verdict, check),
            Err(error) => verdicts.add_undecided(error),
        }
    }
    Ok(json(verdicts.finish()))
}

/// Asks a store that cannot answer at once.
async fn wait_for<S: Store>(
    limiter: &Limiter<S>,
    checks: &[Check<'_>],
) -> Vec<Result<Verdict, CheckError>> {
    let plans: Vec<Plan<'_>> = checks.iter().map(|check| plan(*check)).collect();
    limiter.check_plans(&plans).await
}

//! `POST /v1/throttle/batch`: a list of what `/v1/throttle` takes, answered by a list of verdicts.
//!
//! Each is decided by itself, in the order of the list, and what all need is fetched together.

use tollgate::{Plan, Store};
use tollgate_rules::Tollgate;

use super::request::Throttle;
use super::{count, decided, plan};
use crate::http::problem::Problem;
use crate::http::verdict::Verdicts;
use crate::http::{Answer, Asked, json, query, reading};
use crate::metrics::Metrics;

/// A list of requests; the answer is 200 whatever the verdicts are.
pub(in crate::http) async fn answer<S: Store>(
    gate: &Tollgate<S>,
    metrics: &Metrics,
    asked: Asked<'_>,
) -> Result<Answer, Problem> {
    let nothing = query::nothing(asked.query);
    let ((), throttles) = reading::both(nothing, reading::list::<Throttle<'_>>(asked.body))?;
    let plans: Vec<Plan<'_>> = throttles.iter().map(plan).collect();
    let decisions = gate.limiter().check_plans(&plans).await;
    let rules = gate.rules();
    let mut verdicts = Verdicts::with_capacity(plans.len());
    for ((throttle, plan), verdict) in throttles.iter().zip(&plans).zip(decisions) {
        match verdict {
            Ok(verdict) => {
                count(metrics, throttle, &verdict);
                verdicts.add(&decided(throttle, plan, &verdict, rules.headers()));
            }
            Err(error) => verdicts.add_undecided(&error),
        }
    }
    Ok(json(verdicts.finish()))
}

//! `POST /v1/check/batch`: a list of what `/v1/check` takes, answered by a list of verdicts.

use sluicegate::{CheckError, Store};
use sluicegate_rules::{Answered, RuleLimiter};

use super::decided;
use super::request::CheckBody;
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
    let ((), checks) = reading::both(nothing, reading::list::<CheckBody<'_>>(asked.body))?;
    let requests: Vec<_> = checks.iter().map(CheckBody::request).collect();
    let mut verdicts = Verdicts::with_capacity(requests.len());
    let respond = |index: usize, answered: Result<&Answered<'_>, &CheckError>| match answered {
        Ok(answered) => {
            let reserves = checks.get(index).is_some_and(CheckBody::reserves);
            let reservation = reserves.then(|| answered.reservation()).flatten();
            verdicts.add(&decided(metrics, answered).reserved(reservation));
        }
        Err(error) => verdicts.add_undecided(error),
    };
    gate.decide_many(&requests, respond).await;
    Ok(json(verdicts.finish()))
}

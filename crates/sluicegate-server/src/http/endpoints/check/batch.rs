//! `POST /v1/check/batch`: a list of requests, answered with a list of verdicts.

use sluicegate::{CheckError, Store};
use sluicegate_rules::{Evaluation, RuleLimiter};

use super::body::CheckBody;
use super::check_response;
use crate::http::json;
use crate::http::request_error::RequestError;
use crate::http::response::Verdicts;
use crate::http::{HttpResponse, RequestParts, json_response, query};
use crate::metrics::Metrics;

/// Decides a list of requests; the status is always 200.
pub(in crate::http) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    metrics: &Metrics,
    parts: RequestParts<'_>,
) -> Result<HttpResponse, RequestError> {
    let no_query = query::none(parts.query);
    let ((), checks) = json::both(no_query, json::list::<CheckBody<'_>>(parts.body))?;
    let requests: Vec<_> = checks.iter().map(CheckBody::request).collect();
    let mut verdicts = Verdicts::with_capacity(requests.len());
    let respond = |index: usize, result: Result<&Evaluation<'_>, &CheckError>| match result {
        Ok(evaluation) => {
            let reservation = checks[index].reserves().then(|| evaluation.reservation()).flatten();
            verdicts.add(&check_response(metrics, evaluation).with_reservation(reservation));
        }
        Err(error) => verdicts.add_undecided(error),
    };
    gate.check_batch(&requests, respond).await;
    Ok(json_response(verdicts.finish()))
}

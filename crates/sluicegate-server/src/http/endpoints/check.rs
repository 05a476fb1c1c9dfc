//! `POST /v1/check`: the rules decide a request that the body describes.

pub(in crate::http) mod batch;
mod body;
mod described_request;

use sluicegate::{Clock, Store};
use sluicegate_rules::{Evaluation, RuleLimiter};
use tracing::debug;

use self::body::CheckBody;
pub(in crate::http) use self::described_request::{DescribedRequest, DescribedRequestFields};
use crate::http::json;
use crate::http::json::FromJson;
use crate::http::request_error::RequestError;
use crate::http::response::CheckResponse;
use crate::http::{HttpResponse, RequestParts, query};
use crate::metrics::Metrics;

/// Decides one request.
pub(in crate::http) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    metrics: &Metrics,
    parts: RequestParts<'_>,
) -> Result<HttpResponse, RequestError> {
    let deny_status = query::deny_status(parts.query, &query::ANY_STATUS);
    let (deny_status, check) = json::both(deny_status, CheckBody::read(parts.body))?;
    let request = check.request();
    let response = gate.check(&request, |evaluation| {
        let now = || gate.limiter().store().clock().now();
        let reservation = check.reserves().then(|| evaluation.reservation()).flatten();
        check_response(metrics, evaluation)
            .with_reservation(reservation)
            .into_answer(deny_status, now)
    });
    response.await.map_err(RequestError::undecided)
}

/// Counts an evaluation, and creates its response.
pub(in crate::http) fn check_response<'a>(
    metrics: &Metrics,
    evaluation: &'a Evaluation<'a>,
) -> CheckResponse<'a> {
    metrics.evaluated(evaluation);
    let response = CheckResponse::of_evaluation(evaluation);
    if let Some(reason) = response.info.reason() {
        debug!(rule = response.info.rule(), reason, "refused");
    }
    response
}

//! `/v1/authorize`: checks a request for a proxy before the proxy forwards it.

mod forwarded_request;

use std::net::IpAddr;

use hyper::http::request::Parts;
use sluicegate::{Clock, Store};
use sluicegate_rules::RuleLimiter;

use self::forwarded_request::ForwardedRequest;
use crate::http::HttpResponse;
use crate::http::endpoints::check;
use crate::http::request_error::RequestError;
use crate::metrics::Metrics;

/// Decides the forwarded request; the response to an allowed one has no body.
pub(in crate::http) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    metrics: &Metrics,
    peer: IpAddr,
    head: &Parts,
) -> Result<HttpResponse, RequestError> {
    let original = ForwardedRequest::of(head).map_err(RequestError::invalid)?;
    let request = original.request(peer);
    let response = gate.check(&request, |evaluation| {
        let now = || gate.limiter().store().clock().now();
        check::check_response(metrics, evaluation).into_bare_answer(original.deny_status(), now)
    });
    response.await.map_err(RequestError::undecided)
}

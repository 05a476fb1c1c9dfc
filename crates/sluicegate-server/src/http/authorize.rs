//! `/v1/authorize`: for proxies that ask about each request before they pass it on.

mod original;

use std::net::IpAddr;

use hyper::http::request::Parts;
use sluicegate::{Clock, Store};
use sluicegate_rules::RuleLimiter;

use self::original::Original;
use super::problem::Problem;
use super::{Answer, check};
use crate::metrics::Metrics;

/// Headers, plan, store, verdict, response: without a body where the request may go ahead.
pub(super) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    metrics: &Metrics,
    peer: IpAddr,
    head: &Parts,
) -> Result<Answer, Problem> {
    let original = Original::of(head).map_err(Problem::mistaken)?;
    let request = original.request(peer);
    let answered = gate.decide(&request, |answered| {
        let now = || gate.limiter().store().clock().now();
        check::decided(metrics, answered).into_bare_answer(original.deny_status(), now)
    });
    answered.await.map_err(Problem::undecided)
}

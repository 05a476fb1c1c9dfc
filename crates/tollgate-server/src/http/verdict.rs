//! A verdict as a response: JSON and headers.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::{Serialize, Serializer};
use tollgate::{Check, Cost, Decision, Plan, Span, Verdict};

use super::{Answer, headers};

/// What is said about a request that was decided.
pub(super) struct Decided<'a> {
    /// The rule that applied.
    pub(super) rule: &'static str,
    pub(super) plan: &'a Plan<'a>,
    pub(super) verdict: &'a Verdict,
    /// What was asked for.
    pub(super) cost: Cost,
    /// The status that says no.
    pub(super) refused: StatusCode,
}

impl Decided<'_> {
    /// Enough for a verdict with one decision, so that writing it allocates once.
    pub(super) const USUAL_LENGTH: usize = 512;

    pub(super) fn into_answer(self) -> Answer {
        let status = if self.verdict.is_allowed() { StatusCode::OK } else { self.refused };
        let mut body = Vec::new();
        if may_have_body(status) {
            body.reserve(Self::USUAL_LENGTH);
            self.write(&mut body);
        }
        let mut answer = Response::new(Full::from(Bytes::from(body)));
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        if may_have_body(status) {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(strictest) = self.verdict.strictest() {
            let limit = self.plan.checks()[strictest.check].limit();
            headers::write(headers, self.rule, limit, strictest.decision);
        }
        answer
    }

    /// Writes the verdict as JSON.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let strictest = self.verdict.strictest().map(|strictest| strictest.decision);
        let refusal = strictest.filter(|_| !self.verdict.is_allowed()).and_then(Decision::refusal);
        let body = Body {
            allowed: self.verdict.is_allowed(),
            rule: self.rule,
            reason: refusal.map(tollgate::Refusal::as_str),
            limit: strictest.map_or(0, Decision::limit),
            remaining: strictest.map_or(0, Decision::remaining),
            cost: self.cost.units(),
            retry_after_ms: self.verdict.retry_after().map(Span::as_millis_ceil),
            reset_after_ms: strictest.map_or(0, |decision| decision.reset_after().as_millis_ceil()),
            delay_ms: self.verdict.delay().as_millis_ceil(),
            decisions: Decisions { plan: self.plan, verdict: self.verdict },
        };
        // Writing text and numbers to memory does not fail.
        let _ = serde_json::to_writer(out, &body);
    }
}

/// Some statuses end with their head; a body behind one would be read as the next response.
fn may_have_body(status: StatusCode) -> bool {
    use StatusCode as S;
    !matches!(status, S::NO_CONTENT | S::RESET_CONTENT | S::NOT_MODIFIED)
}

#[derive(Serialize)]
struct Body<'a> {
    allowed: bool,
    rule: &'a str,
    reason: Option<&'static str>,
    limit: u64,
    remaining: u64,
    cost: u64,
    retry_after_ms: Option<u64>,
    reset_after_ms: u64,
    delay_ms: u64,
    decisions: Decisions<'a>,
}

/// Every decision that was made; alternatives that were not needed are left out.
struct Decisions<'a> {
    plan: &'a Plan<'a>,
    verdict: &'a Verdict,
}

impl Serialize for Decisions<'_> {
    fn serialize<Out: Serializer>(&self, out: Out) -> Result<Out::Ok, Out::Error> {
        let decisions = self.plan.checks().iter().zip(self.verdict.decisions());
        out.collect_seq(decisions.filter_map(|(check, made)| Some(Made::of(check, made.as_ref()?))))
    }
}

#[derive(Serialize)]
struct Made<'a> {
    limit_name: &'a str,
    algorithm: &'static str,
    allowed: bool,
    reason: Option<&'static str>,
    limit: u64,
    remaining: u64,
    granted: u64,
    retry_after_ms: Option<u64>,
    reset_after_ms: u64,
    delay_ms: u64,
}

impl<'a> Made<'a> {
    fn of(check: &Check<'a>, decision: &Decision) -> Self {
        Self {
            limit_name: check.limit().name(),
            algorithm: check.limit().algorithm(),
            allowed: decision.is_allowed(),
            reason: decision.refusal().map(tollgate::Refusal::as_str),
            limit: decision.limit(),
            remaining: decision.remaining(),
            granted: decision.granted(),
            retry_after_ms: decision.retry_after().map(Span::as_millis_ceil),
            reset_after_ms: decision.reset_after().as_millis_ceil(),
            delay_ms: decision.delay().as_millis_ceil(),
        }
    }
}

//! The response to a check: JSON and headers.

mod batch;
mod limit;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use sluicegate::{DecidedBy, Decision, Span, Time};
use sluicegate_http::{Audience, LimitOutcome, Problem, RateLimitInfo};
use sluicegate_rules::Evaluation;

pub(super) use self::batch::Verdicts;
pub(super) use self::limit::write_limit;
use super::HttpResponse;
use super::json::writer::{JsonWriter, name};

/// The response to a request that was decided.
pub(super) struct CheckResponse<'a> {
    pub(super) info: RateLimitInfo<'a>,
    /// The receipt to send back when the request has ended.
    slot: Option<String>,
    /// The receipt to send back when the actual cost is known.
    reservation: Option<String>,
}

impl<'a> CheckResponse<'a> {
    /// The space for a verdict with one decision, so that writing it allocates once …
    const USUAL_LENGTH: usize = 512;
    /// … and for every further decision.
    const USUAL_DECISION: usize = 320;

    /// Creates the response to a request that brought its own limit.
    pub(super) fn new(info: RateLimitInfo<'a>) -> Self {
        Self { info, slot: None, reservation: None }
    }

    /// Creates the response to a request that was evaluated by rules.
    pub(super) fn of_evaluation(evaluation: &'a Evaluation<'a>) -> Self {
        Self { slot: evaluation.slot(), ..Self::new(RateLimitInfo::of(evaluation)) }
    }

    /// Adds the receipt to send back when the actual cost is known.
    pub(super) fn with_reservation(self, reservation: Option<String>) -> Self {
        Self { reservation, ..self }
    }

    /// Builds the HTTP response; a refusal has `deny_status` if the request sets it.
    pub(super) fn into_answer(
        self,
        deny_status: Option<StatusCode>,
        now: impl FnOnce() -> Time,
    ) -> HttpResponse {
        let status = self.status(deny_status);
        let mut body = Vec::new();
        if may_have_body(status) {
            let others = self.info.limits().count().saturating_sub(1);
            body.reserve(Self::USUAL_LENGTH + others * Self::USUAL_DECISION);
            self.write(&mut body, status);
        }
        let mut answer = Response::new(Full::from(Bytes::from(body)));
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        self.info.insert_headers(headers, now);
        if may_have_body(status) {
            let kind =
                if self.info.is_allowed() { "application/json" } else { Problem::CONTENT_TYPE };
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    }

    /// Builds the HTTP response for proxies, which forward it to clients.
    ///
    /// It has no body if the request is allowed, and otherwise a problem without the verdict, which
    /// is for the operator only.
    pub(super) fn into_bare_answer(
        self,
        deny_status: Option<StatusCode>,
        now: impl FnOnce() -> Time,
    ) -> HttpResponse {
        let status = self.status(deny_status);
        let problem = self.info.problem(status.as_u16(), Audience::Caller);
        let problem = problem.filter(|_| may_have_body(status));
        let body = problem.and_then(|problem| serde_json::to_vec(&problem).ok());
        let is_problem = body.is_some();
        let mut answer = Response::new(body.map(Full::from).unwrap_or_default());
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        self.info.insert_headers(headers, now);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if is_problem {
            let kind = HeaderValue::from_static(Problem::CONTENT_TYPE);
            headers.insert(CONTENT_TYPE, kind);
        }
        if let Some(slot) = self.slot.and_then(|slot| HeaderValue::try_from(slot).ok()) {
            headers.insert("x-sluicegate-slot", slot);
        }
        let delay = self.info.delay();
        if !delay.is_zero() {
            headers.insert("x-sluicegate-delay-ms", delay.as_millis_ceil().into());
        }
        answer
    }

    /// Returns the status; that of a refusal is `deny_status` if the request sets it.
    fn status(&self, deny_status: Option<StatusCode>) -> StatusCode {
        let Some(kind) = self.info.refused() else { return StatusCode::OK };
        let own = || StatusCode::from_u16(kind.status()).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
        deny_status.unwrap_or_else(own)
    }

    /// Writes the verdict as JSON; that of a refusal is also a problem with this status.
    fn write(&self, out: &mut Vec<u8>, status: StatusCode) {
        let info = &self.info;
        let known = info.strictest().filter(|limit| limit.is_known).map(|limit| limit.decision);
        let problem = info.problem(status.as_u16(), Audience::Operator);
        let mut object = match &problem {
            None => JsonWriter::begin(out),
            Some(problem) => {
                // Serializing texts and numbers does not fail.
                let _ = serde_json::to_writer(&mut *out, problem);
                JsonWriter::resume(out)
            }
        };
        object.flag(name!("allowed"), info.is_allowed());
        object.text_if(name!("rule"), info.rule());
        object.word_if(name!("reason"), info.reason());
        object.text_maybe(name!("identity"), info.identity());
        object.text_maybe(name!("tier"), info.tier().filter(|_| problem.is_none()));
        object.number_if(name!("limit"), known.map(Decision::limit));
        object.number_if(name!("remaining"), known.map(Decision::remaining));
        object.number(name!("cost"), info.cost());
        object.number_if(name!("retry_after_ms"), info.retry_after().map(Span::as_millis_ceil));
        let reset_after = known.map(|decision| decision.reset_after().as_millis_ceil());
        object.number_if(name!("reset_after_ms"), reset_after);
        object.number(name!("delay_ms"), info.delay().as_millis_ceil());
        object.text_maybe(name!("slot"), self.slot.as_deref());
        object.text_maybe(name!("reservation"), self.reservation.as_deref());
        let by = Some(info.by()).filter(|by| *by != DecidedBy::Store);
        object.text_maybe(name!("by"), by.map(DecidedBy::as_str));
        object.list(name!("decisions"), info.limits(), |limit: LimitOutcome<'_>, object| {
            write_limit(info, &limit, object);
        });
        object.end();
    }
}

/// Returns whether a status may have a body.
///
/// After a status without one, a client would read the body as the next response.
fn may_have_body(status: StatusCode) -> bool {
    use StatusCode as S;
    !matches!(status, S::NO_CONTENT | S::RESET_CONTENT | S::NOT_MODIFIED)
}

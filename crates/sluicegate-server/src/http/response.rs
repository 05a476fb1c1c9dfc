//! The response to a check: JSON and headers.

mod batch;
mod decisions;
mod summary;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use sluicegate::{Check, DecidedBy, Decision, Mode, Refusal, Span, Time, Verdict};
use sluicegate_http::{Problem, RateLimitInfo, is_unasked};
use sluicegate_rules::{Evaluation, HeaderSettings, PlanOutcome};

pub(super) use self::batch::Verdicts;
pub(super) use self::decisions::{DecisionJson, Decisions};
use super::HttpResponse;
use super::json::writer::{JsonWriter, name};

/// The response to a request that was decided.
pub(crate) struct CheckResponse<'a> {
    info: RateLimitInfo<'a>,
    allowed: bool,
    /// The rule of the strictest limit.
    rule: Option<&'a str>,
    reason: Option<&'static str>,
    /// The identity that the request lacks.
    identity: Option<&'a str>,
    tier: Option<&'a str>,
    /// The strictest decision, if it is enforced.
    strictest: Option<&'a Decision>,
    /// Whether the state of that counter is unknown, because the store was unavailable.
    state_unknown: bool,
    /// The cost of the request.
    cost: u64,
    retry_after: Option<Span>,
    delay: Span,
    /// The receipt to send back when the request has ended.
    slot: Option<String>,
    /// The receipt to send back when the actual cost is known.
    reservation: Option<String>,
    decisions: Decisions<'a>,
    by: DecidedBy,
}

impl<'a> CheckResponse<'a> {
    /// The space for a verdict with one decision, so that writing it allocates once …
    const USUAL_LENGTH: usize = 512;
    /// … and for every further decision.
    const USUAL_DECISION: usize = 320;

    /// Creates the response to a request without checks.
    fn without_checks(info: RateLimitInfo<'a>, cost: u64) -> Self {
        Self {
            info,
            allowed: true,
            rule: None,
            reason: None,
            identity: None,
            tier: None,
            strictest: None,
            state_unknown: false,
            cost,
            retry_after: None,
            delay: Span::ZERO,
            slot: None,
            reservation: None,
            decisions: Decisions::NONE,
            by: DecidedBy::Store,
        }
    }

    /// Creates the response to checks under one name, without rules.
    pub(super) fn by_rule(
        rule: &'a str,
        checks: &'a [Check<'a>],
        verdict: &'a Verdict,
        cost: u64,
        settings: &'a HeaderSettings,
    ) -> Self {
        let info = RateLimitInfo::named(rule, checks, verdict, cost, settings);
        Self { rule: Some(rule), ..Self::of(info, checks, verdict, cost) }
    }

    /// Creates the response to checks.
    fn of(
        info: RateLimitInfo<'a>,
        checks: &'a [Check<'a>],
        verdict: &'a Verdict,
        cost: u64,
    ) -> Self {
        let strictest = verdict.strictest().and_then(|strictest| {
            let check = checks.get(strictest.check)?;
            // A shadow blocks no request, so that only the operator needs its state.
            (check.mode() == Mode::Enforce).then_some(strictest.decision)
        });
        let refusal = strictest.filter(|_| !verdict.is_allowed());
        let refusal = refusal.and_then(Decision::refusal);
        let is_unknown = |check: usize| {
            let check = checks.get(check);
            check.is_some_and(|check| is_unasked(check, verdict))
        };
        let state_unknown =
            verdict.strictest().is_some_and(|strictest| is_unknown(strictest.check));
        Self {
            allowed: verdict.is_allowed(),
            reason: refusal.map(Refusal::as_str),
            strictest,
            state_unknown,
            by: verdict.by(),
            retry_after: verdict.retry_after(),
            delay: verdict.delay(),
            decisions: Decisions { checks, verdict: Some(verdict), planned: None },
            ..Self::without_checks(info, cost)
        }
    }

    /// Creates the response to a request that was evaluated by rules.
    pub(crate) fn of_evaluation(evaluation: &'a Evaluation<'a>) -> Self {
        let (planned, cost) = (evaluation.planned, evaluation.planned.cost());
        let info = RateLimitInfo::of(evaluation);
        let response = match evaluation.verdict {
            Some(verdict) => {
                let response = Self::of(info, planned.plan().checks(), verdict, cost);
                let strictest = verdict.strictest().filter(|_| response.strictest.is_some());
                let rule = strictest.and_then(|strictest| planned.rule(strictest.check));
                let decisions = Decisions { planned: Some(planned), ..response.decisions };
                let (rule, slot) = (rule.map(sluicegate_rules::Rule::name), evaluation.slot());
                Self { rule, slot, decisions, ..response }
            }
            None => Self::without_checks(info, cost),
        };
        let allowed = evaluation.is_allowed();
        let response = Self { allowed, tier: planned.tier(), ..response };
        match planned.outcome() {
            PlanOutcome::Check | PlanOutcome::Free => response,
            PlanOutcome::Blocked => Self { reason: Some("listed"), ..response },
            PlanOutcome::Unidentified { identity, rule } => Self {
                rule: Some(rule),
                reason: Some("unidentified"),
                identity: Some(identity),
                ..response
            },
        }
    }

    /// Adds the receipt to send back when the actual cost is known.
    pub(super) fn with_reservation(self, reservation: Option<String>) -> Self {
        Self { reservation, ..self }
    }

    /// Returns the rule of the strictest limit.
    pub(super) fn rule(&self) -> Option<&'a str> {
        self.rule
    }

    /// Returns the reason for the refusal.
    pub(super) fn reason(&self) -> Option<&'static str> {
        self.reason
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
            let others = self.decisions.checks.len().saturating_sub(1);
            body.reserve(Self::USUAL_LENGTH + others * Self::USUAL_DECISION);
            self.write(&mut body, status);
        }
        let mut answer = Response::new(Full::from(Bytes::from(body)));
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        self.info.insert_headers(headers, now);
        if may_have_body(status) {
            let kind = if self.allowed { "application/json" } else { Problem::CONTENT_TYPE };
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
        let problem = self.info.problem(status.as_u16()).filter(|_| may_have_body(status));
        let body = problem.and_then(|problem| serde_json::to_vec(&problem.for_callers()).ok());
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
        if !self.delay.is_zero() {
            headers.insert("x-sluicegate-delay-ms", self.delay.as_millis_ceil().into());
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
        let decision = self.strictest.filter(|_| !self.state_unknown);
        let problem = self.info.problem(status.as_u16());
        let mut object = match &problem {
            None => JsonWriter::begin(out),
            Some(problem) => {
                // Serializing texts and numbers does not fail.
                let _ = serde_json::to_writer(&mut *out, problem);
                JsonWriter::resume(out)
            }
        };
        object.flag(name!("allowed"), self.allowed);
        object.text_if(name!("rule"), self.rule);
        object.word_if(name!("reason"), self.reason);
        object.text_maybe(name!("identity"), self.identity);
        object.text_maybe(name!("tier"), self.tier.filter(|_| problem.is_none()));
        object.number_if(name!("limit"), decision.map(Decision::limit));
        object.number_if(name!("remaining"), decision.map(Decision::remaining));
        object.number(name!("cost"), self.cost);
        object.number_if(name!("retry_after_ms"), self.retry_after.map(Span::as_millis_ceil));
        let reset_after = decision.map(|decision| decision.reset_after().as_millis_ceil());
        object.number_if(name!("reset_after_ms"), reset_after);
        object.number(name!("delay_ms"), self.delay.as_millis_ceil());
        object.text_maybe(name!("slot"), self.slot.as_deref());
        object.text_maybe(name!("reservation"), self.reservation.as_deref());
        object.text_maybe(name!("by"), (self.by != DecidedBy::Store).then_some(self.by.as_str()));
        object.list(name!("decisions"), self.decisions.iter(), |decision, object| {
            decision.write(object);
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

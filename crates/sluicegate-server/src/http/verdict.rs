//! A verdict as a response: JSON and headers.

mod decisions;
mod list;
mod summary;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use sluicegate::{By, Check, Decision, Gate, Refusal, Span, Time, Verdict};
use sluicegate_rules::{Answered, HeaderSettings, Outcome};

pub(super) use self::decisions::{Decisions, Made};
pub(super) use self::list::Verdicts;
use super::object::{Object, name};
use super::{Answer, headers};
pub(super) use crate::told::is_unasked;
use crate::told::{self, Told};

/// What is said about a request that was decided.
pub(crate) struct Decided<'a> {
    told: Told<'a>,
    allowed: bool,
    /// The rule that says most about it.
    rule: Option<&'a str>,
    reason: Option<&'static str>,
    /// Who would have to be asking: what a rule wants to know and was not told.
    identity: Option<&'a str>,
    tier: Option<&'a str>,
    /// The decision that says most, of those that may refuse.
    strictest: Option<&'a Decision>,
    /// Whether nobody knows how that one stands, because the store was not there.
    unknown: bool,
    /// What was asked for.
    cost: u64,
    retry_after: Option<Span>,
    delay: Span,
    /// What has to be brought back when the request has ended.
    slot: Option<String>,
    /// What has to be brought back when it is known what the request cost.
    reservation: Option<String>,
    decisions: Decisions<'a>,
    by: By,
}

impl<'a> Decided<'a> {
    /// Enough for a verdict with one decision, so that writing it allocates once …
    const USUAL_LENGTH: usize = 512;
    /// … and for every other decision.
    const USUAL_DECISION: usize = 320;

    /// Nothing was asked.
    fn unasked(told: Told<'a>, cost: u64) -> Self {
        Self {
            told,
            allowed: true,
            rule: None,
            reason: None,
            identity: None,
            tier: None,
            strictest: None,
            unknown: false,
            cost,
            retry_after: None,
            delay: Span::ZERO,
            slot: None,
            reservation: None,
            decisions: Decisions::NONE,
            by: By::Store,
        }
    }

    /// What a store said to the checks of this rule alone.
    pub(super) fn by_rule(
        rule: &'a str,
        checks: &'a [Check<'a>],
        verdict: &'a Verdict,
        cost: u64,
        settings: &'a HeaderSettings,
    ) -> Self {
        let told = Told::named(rule, checks, verdict, cost, settings);
        Self { rule: Some(rule), ..Self::of(told, checks, verdict, cost) }
    }

    /// What a store said to checks.
    fn of(told: Told<'a>, checks: &'a [Check<'a>], verdict: &'a Verdict, cost: u64) -> Self {
        let strictest = verdict.strictest().and_then(|strictest| {
            let check = checks.get(strictest.check)?;
            // A shadow is in nobody's way: how it stands is nobody's business but the operator's.
            (check.gate() == Gate::Enforce).then_some(strictest.decision)
        });
        let refusal = strictest.filter(|_| !verdict.is_allowed());
        let refusal = refusal.and_then(Decision::refusal);
        let unasked = |check: usize| {
            let check = checks.get(check);
            check.is_some_and(|check| is_unasked(check, verdict))
        };
        let unknown = verdict.strictest().is_some_and(|strictest| unasked(strictest.check));
        Self {
            allowed: verdict.is_allowed(),
            reason: refusal.map(Refusal::as_str),
            strictest,
            unknown,
            by: verdict.by(),
            retry_after: verdict.retry_after(),
            delay: verdict.delay(),
            decisions: Decisions { checks, verdict: Some(verdict), planned: None },
            ..Self::unasked(told, cost)
        }
    }

    /// What became of a request that goes by rules.
    pub(crate) fn answered(answered: &'a Answered<'a>) -> Self {
        let (planned, cost) = (answered.planned, answered.planned.cost());
        let told = Told::answered(answered);
        let decided = match answered.verdict {
            Some(verdict) => {
                let decided = Self::of(told, planned.plan().checks(), verdict, cost);
                let strictest = verdict.strictest().filter(|_| decided.strictest.is_some());
                let rule = strictest.and_then(|strictest| planned.rule(strictest.check));
                let decisions = Decisions { planned: Some(planned), ..decided.decisions };
                let (rule, slot) = (rule.map(sluicegate_rules::Rule::name), answered.slot());
                Self { rule, slot, decisions, ..decided }
            }
            None => Self::unasked(told, cost),
        };
        let allowed = answered.is_allowed();
        let decided = Self { allowed, tier: planned.tier(), ..decided };
        match planned.outcome() {
            Outcome::Ask | Outcome::Free => decided,
            Outcome::Blocked => Self { reason: Some("listed"), ..decided },
            Outcome::Unidentified { identity, rule } => Self {
                rule: Some(rule),
                reason: Some("unidentified"),
                identity: Some(identity),
                ..decided
            },
        }
    }

    /// The same, with what has to be brought back when it is known what the request cost.
    pub(super) fn reserved(self, reservation: Option<String>) -> Self {
        Self { reservation, ..self }
    }

    /// The rule that says most about the request.
    pub(super) fn rule(&self) -> Option<&'a str> {
        self.rule
    }

    /// Why it was refused.
    pub(super) fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    /// The response; a refusal has `deny_status` where that was asked for.
    pub(super) fn into_answer(
        self,
        deny_status: Option<StatusCode>,
        now: impl FnOnce() -> Time,
    ) -> Answer {
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
        headers::write(headers, &self.told, now);
        if may_have_body(status) {
            let kind = if self.allowed { "application/json" } else { told::Problem::CONTENT_TYPE };
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    }

    /// The response for proxies, which pass it on to clients: no body where the request may go ahead,
    /// and else a problem without the verdict, which is the operator's business.
    pub(super) fn into_bare_answer(
        self,
        deny_status: Option<StatusCode>,
        now: impl FnOnce() -> Time,
    ) -> Answer {
        let status = self.status(deny_status);
        let problem = self.told.problem(status.as_u16()).filter(|_| may_have_body(status));
        let body = problem.and_then(|problem| serde_json::to_vec(&problem.for_callers()).ok());
        let is_problem = body.is_some();
        let mut answer = Response::new(body.map(Full::from).unwrap_or_default());
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        headers::write(headers, &self.told, now);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if is_problem {
            let kind = HeaderValue::from_static(told::Problem::CONTENT_TYPE);
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

    /// Its status; that of a refusal is `deny_status` where that was asked for.
    fn status(&self, deny_status: Option<StatusCode>) -> StatusCode {
        let Some(kind) = self.told.refused() else { return StatusCode::OK };
        let own = || StatusCode::from_u16(kind.status()).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
        deny_status.unwrap_or_else(own)
    }

    /// Writes the verdict as JSON; a refusal is a problem of this status, too.
    fn write(&self, out: &mut Vec<u8>, status: StatusCode) {
        let decision = self.strictest.filter(|_| !self.unknown);
        let problem = self.told.problem(status.as_u16());
        let mut object = match &problem {
            None => Object::begin(out),
            Some(problem) => {
                // Writing text and numbers to memory does not fail.
                let _ = serde_json::to_writer(&mut *out, problem);
                Object::resume(out)
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
        object.text_maybe(name!("by"), (self.by != By::Store).then_some(self.by.as_str()));
        object.list(name!("decisions"), self.decisions.each(), |made, object| made.write(object));
        object.end();
    }
}

/// Some statuses end with their head; a body behind one would be read as the next response.
fn may_have_body(status: StatusCode) -> bool {
    use StatusCode as S;
    !matches!(status, S::NO_CONTENT | S::RESET_CONTENT | S::NOT_MODIFIED)
}

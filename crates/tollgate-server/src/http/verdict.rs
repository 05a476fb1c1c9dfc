//! A verdict as a response: JSON and headers.

mod decisions;
mod list;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde::Serialize;
use tollgate::{By, Decision, Gate, Limit, Plan, Refusal, Span, Verdict};
use tollgate_rules::{Answered, Outcome};

pub(super) use self::decisions::{Decisions, Made, is_unasked};
pub(super) use self::list::Verdicts;
use super::{Answer, headers};

/// What is said about a request that was decided.
pub(super) struct Decided<'a> {
    allowed: bool,
    /// The rule that says most about it.
    rule: Option<&'a str>,
    reason: Option<&'static str>,
    /// Who would have to be asking: what a rule wants to know and was not told.
    identity: Option<&'a str>,
    tier: Option<&'a str>,
    /// The limit and the decision that say most, of those that may refuse.
    strictest: Option<(&'a Limit, &'a Decision)>,
    /// Whether nobody knows how that one stands, because the store was not there.
    unknown: bool,
    /// What was asked for.
    cost: u64,
    retry_after: Option<Span>,
    delay: Span,
    /// What has to be brought back when the request has ended.
    slot: Option<String>,
    decisions: Decisions<'a>,
    by: By,
    /// The status of a refusal, unless another was asked for.
    refused: StatusCode,
}

impl<'a> Decided<'a> {
    /// Enough for a verdict with one decision, so that writing it allocates once.
    const USUAL_LENGTH: usize = 512;

    /// Nothing was asked.
    fn unasked(cost: u64) -> Self {
        Self {
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
            decisions: Decisions::NONE,
            by: By::Store,
            refused: StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// What a store said to the plan of this rule alone.
    pub(super) fn by_rule(
        rule: &'a str,
        plan: &'a Plan<'a>,
        verdict: &'a Verdict,
        cost: u64,
    ) -> Self {
        Self { rule: Some(rule), ..Self::of(plan, verdict, cost) }
    }

    /// What a store said to a plan.
    fn of(plan: &'a Plan<'a>, verdict: &'a Verdict, cost: u64) -> Self {
        let strictest = verdict.strictest().and_then(|strictest| {
            let check = plan.checks().get(strictest.check)?;
            // A shadow is in nobody's way: how it stands is nobody's business but the operator's.
            (check.gate() == Gate::Enforce).then_some((check.limit(), strictest.decision))
        });
        let refusal = strictest.filter(|_| !verdict.is_allowed());
        let refusal = refusal.and_then(|(_, decision)| decision.refusal());
        let unasked = |check: usize| {
            let check = plan.checks().get(check);
            check.is_some_and(|check| is_unasked(check, verdict))
        };
        let unknown = verdict.strictest().is_some_and(|strictest| unasked(strictest.check));
        let refused = match refusal {
            Some(Refusal::Unreachable) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::TOO_MANY_REQUESTS,
        };
        Self {
            allowed: verdict.is_allowed(),
            reason: refusal.map(Refusal::as_str),
            strictest,
            unknown,
            by: verdict.by(),
            refused,
            retry_after: verdict.retry_after(),
            delay: verdict.delay(),
            decisions: Decisions { plan: Some(plan), verdict: Some(verdict), planned: None },
            ..Self::unasked(cost)
        }
    }

    /// What became of a request that goes by rules.
    pub(super) fn answered(answered: &'a Answered<'a>) -> Self {
        let (planned, cost) = (answered.planned, answered.planned.cost());
        let decided = match answered.verdict {
            Some(verdict) => {
                let decided = Self::of(planned.plan(), verdict, cost);
                let strictest = verdict.strictest().filter(|_| decided.strictest.is_some());
                let rule = strictest.and_then(|strictest| planned.rule(strictest.check));
                let decisions = Decisions { planned: Some(planned), ..decided.decisions };
                let (rule, slot) = (rule.map(tollgate_rules::Rule::name), answered.slot());
                Self { rule, slot, decisions, ..decided }
            }
            None => Self::unasked(cost),
        };
        let allowed = answered.is_allowed();
        let decided = Self { allowed, tier: planned.tier(), ..decided };
        match planned.outcome() {
            Outcome::Ask | Outcome::Free => decided,
            Outcome::Blocked => {
                Self { reason: Some("listed"), refused: StatusCode::FORBIDDEN, ..decided }
            }
            Outcome::Unidentified { identity, rule } => Self {
                rule: Some(rule),
                reason: Some("unidentified"),
                identity: Some(identity),
                refused: StatusCode::UNAUTHORIZED,
                ..decided
            },
        }
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
    pub(super) fn into_answer(self, deny_status: Option<StatusCode>) -> Answer {
        let refused = deny_status.unwrap_or(self.refused);
        let status = if self.allowed { StatusCode::OK } else { refused };
        let mut body = Vec::new();
        if may_have_body(status) {
            body.reserve(Self::USUAL_LENGTH);
            self.write(&mut body, Some(status));
        }
        let mut answer = Response::new(Full::from(Bytes::from(body)));
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        if may_have_body(status) {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type()));
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let (Some((limit, decision)), Some(rule)) = (self.known(), self.rule) {
            headers::write(headers, rule, limit, decision);
        }
        if let Some(identity) = self.identity {
            headers.insert(WWW_AUTHENTICATE, headers::challenge(identity));
        }
        answer
    }

    /// The limit and the decision that say most, if anybody knows how they stand.
    fn known(&self) -> Option<(&'a Limit, &'a Decision)> {
        self.strictest.filter(|_| !self.unknown)
    }

    /// Whether it is refused because the store is not there: for now, and through no fault of the
    /// caller's.
    fn is_unreachable(&self) -> bool {
        self.reason == Some(Refusal::Unreachable.as_str())
    }

    fn content_type(&self) -> &'static str {
        if self.is_unreachable() { "application/problem+json" } else { "application/json" }
    }

    /// Writes the verdict as JSON; a refusal for want of the store is a problem of this status, too.
    fn write(&self, out: &mut Vec<u8>, status: Option<StatusCode>) {
        let decision = self.known().map(|(_, decision)| decision);
        let problem = status.filter(|_| self.is_unreachable());
        let body = Body {
            kind: problem.map(|_| REDUCED_CAPACITY),
            title: problem.map(|_| "Temporary reduced capacity"),
            status: problem.map(|status| status.as_u16()),
            detail: problem.map(|_| UNREACHABLE),
            allowed: self.allowed,
            rule: self.rule,
            reason: self.reason,
            identity: self.identity,
            tier: self.tier,
            limit: decision.map(Decision::limit),
            remaining: decision.map(Decision::remaining),
            cost: self.cost,
            retry_after_ms: self.retry_after.map(Span::as_millis_ceil),
            reset_after_ms: decision.map(|decision| decision.reset_after().as_millis_ceil()),
            delay_ms: self.delay.as_millis_ceil(),
            slot: self.slot.as_deref(),
            by: (self.by != By::Store).then_some(self.by.as_str()),
            decisions: self.decisions,
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

/// The type of problem that says that more is possible at other times, as registered for the
/// rate-limit headers.
const REDUCED_CAPACITY: &str =
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
const UNREACHABLE: &str = "the store that counts for all nodes cannot be asked, and the rule refuses then; try again later";

#[derive(Serialize)]
struct Body<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'static str>,
    allowed: bool,
    rule: Option<&'a str>,
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<&'a str>,
    limit: Option<u64>,
    remaining: Option<u64>,
    cost: u64,
    retry_after_ms: Option<u64>,
    reset_after_ms: Option<u64>,
    delay_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    slot: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    decisions: Decisions<'a>,
}

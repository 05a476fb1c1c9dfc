//! How one descriptor stands.

use serde::Serialize;
use sluicegate::{Check, Decision, Gate};
use sluicegate_rules::{Answered, Purpose};

use super::super::descriptor::Descriptor;
use super::super::overrides::{NAME, Override};
use super::super::proto::envoy::service::ratelimit::v3::rate_limit_response::rate_limit::Unit;
use super::super::unit;
use super::super::wire::Wire;
use super::code;
use crate::told::is_unasked;

/// The fields of a status.
mod field {
    pub(super) const CODE: u32 = 1;
    pub(super) const CURRENT_LIMIT: u32 = 2;
    pub(super) const LIMIT_REMAINING: u32 = 3;
    pub(super) const DURATION_UNTIL_RESET: u32 = 4;
}

/// One descriptor, and what was decided about it.
pub(super) struct Standing<'a, 'm> {
    pub(super) answered: &'a Answered<'a>,
    pub(super) descriptor: &'a Descriptor<'m>,
    pub(super) own: Option<&'a Override>,
}

/// The limit that says most about it.
struct Strictest<'a> {
    index: usize,
    check: &'a Check<'a>,
    decision: &'a Decision,
}

impl<'a> Standing<'a, '_> {
    /// Whether it is over a limit: refused, or only looked at with nothing left.
    pub(super) fn is_over(&self) -> bool {
        let looked = self.descriptor.hits == 0 && self.descriptor.purpose == Purpose::Take;
        let empty = || self.strictest().is_some_and(|one| one.decision.remaining() == 0);
        !self.answered.is_allowed() || (looked && empty())
    }

    pub(super) fn write(&self, status: &mut Wire) {
        status.number(field::CODE, code(self.is_over()));
        let Some(strictest) = self.strictest() else {
            if self.answered.planned.is_unlimited() {
                status.number(field::LIMIT_REMAINING, u64::from(u32::MAX));
            }
            return;
        };
        let (amount, unit) = self.quota(&strictest);
        status.message(field::CURRENT_LIMIT, |limit| {
            limit.number(1, amount.min(u64::from(u32::MAX)));
            limit.number(2, unit as u64);
            let rule = self.answered.planned.rule(strictest.index);
            match rule {
                Some(rule) => limit.bytes(3, rule.policy_name(strictest.check.limit()).as_bytes()),
                None => limit.bytes(3, NAME.as_bytes()),
            }
        });
        let decision = strictest.decision;
        status.number(field::LIMIT_REMAINING, decision.remaining().min(u64::from(u32::MAX)));
        status.message(field::DURATION_UNTIL_RESET, |duration| {
            duration.number(1, decision.reset_after().as_secs_ceil());
        });
    }

    /// The limit that says most, of those that may refuse and whose state is known.
    fn strictest(&self) -> Option<Strictest<'a>> {
        let verdict = self.answered.verdict?;
        let strictest = verdict.strictest()?;
        let (index, decision) = (strictest.check, strictest.decision);
        let check = self.answered.planned.plan().checks().get(index)?;
        let told = check.gate() == Gate::Enforce && !is_unasked(check, verdict);
        told.then_some(Strictest { index, check, decision })
    }

    /// How much per unit: as it was written, or, where that is not known, the most there ever is.
    fn quota(&self, strictest: &Strictest<'_>) -> (u64, Unit) {
        if let Some(own) = self.own {
            return (u64::from(own.amount), unit::told(own.unit));
        }
        match self.answered.planned.quota(strictest.index) {
            Some(quota) => (quota.amount(), unit::of(quota.per())),
            None => (strictest.decision.limit(), Unit::Unknown),
        }
    }
}

/// The body for who only looked, and found nothing left.
#[derive(Serialize)]
pub(super) struct Nothing {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    detail: &'static str,
}

impl Nothing {
    pub(super) const LEFT: Self = Self {
        kind: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        title: "Quota exceeded",
        status: super::STATUS,
        detail: "nothing is left of the limit; come back later",
    };
}

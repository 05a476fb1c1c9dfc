//! A summary of a response, for protocols other than HTTP.

use sluicegate::{DecidedBy, Decision, Span};

use super::CheckResponse;

/// The fields of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Summary<'a> {
    pub(crate) allowed: bool,
    pub(crate) rule: Option<&'a str>,
    pub(crate) reason: Option<&'static str>,
    pub(crate) identity: Option<&'a str>,
    pub(crate) tier: Option<&'a str>,
    pub(crate) limit: Option<u64>,
    pub(crate) remaining: Option<u64>,
    pub(crate) cost: u64,
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) reset_after_ms: Option<u64>,
    pub(crate) delay_ms: u64,
    pub(crate) slot: Option<&'a str>,
    pub(crate) by: DecidedBy,
}

impl CheckResponse<'_> {
    pub(crate) fn summary(&self) -> Summary<'_> {
        let decision = self.strictest.filter(|_| !self.state_unknown);
        Summary {
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
            by: self.by,
        }
    }
}

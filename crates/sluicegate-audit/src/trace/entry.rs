//! One entry of a trace: a decision or another event on a counter.

use serde::Serialize;
use sluicegate_core::{ChargeId, Decision, Receipt, Span, Time};

use crate::decision_source::DecisionSource;

/// One entry of a trace. Times are microseconds: `at` since 1970, the others lengths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TraceEntry {
    /// The deciding store's time.
    pub at: u64,
    /// The wall clock's time of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<u64>,
    /// The node of the request.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// The event; a decision by default.
    #[serde(skip_serializing_if = "TraceEvent::is_decision")]
    pub event: TraceEvent,
    /// The key of the counter.
    pub key: String,
    /// The name of the rule in the header.
    pub rule: String,
    /// The units granted, or the units requested by a refused request.
    pub cost: u64,
    /// Whether they were granted.
    pub allowed: bool,
    /// The units left after it, as reported to the caller.
    pub remaining: Option<u64>,
    /// The time to wait before a retry, as reported to the caller.
    pub retry_after_us: Option<u64>,
    /// The time to hold the request back, as reported to the caller.
    #[serde(skip_serializing_if = "is_zero")]
    pub delay_us: u64,
    /// The longest delay that the caller accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patience_us: Option<u64>,
    /// The id of the slots that are taken, renewed or released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// The source of the decision.
    #[serde(skip_serializing_if = "DecisionSource::is_store")]
    pub source: DecisionSource,
    /// The latency of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_us: Option<u64>,
}

/// An event on a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceEvent {
    /// Units were requested.
    #[default]
    Decision,
    /// Slots were released.
    Release,
    /// A lease was renewed.
    Renew,
    /// Units were charged unconditionally.
    Charge,
    /// Units were refunded.
    Refund,
    /// The counter was reset.
    Reset,
}

impl TraceEvent {
    pub(crate) const ALL: &'static str =
        "`decision`, `release`, `renew`, `charge`, `refund`, `reset`, `rules`, `gap` or `end`";

    /// Returns the event with this name in traces.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "decision" => Self::Decision,
            "release" => Self::Release,
            "renew" => Self::Renew,
            "charge" => Self::Charge,
            "refund" => Self::Refund,
            "reset" => Self::Reset,
            _ => return None,
        })
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub(crate) fn is_decision(&self) -> bool {
        *self == Self::Decision
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_zero(micros: &u64) -> bool {
    *micros == 0
}

impl TraceEntry {
    /// Creates the entry of one limit's decision on `asked` units, at the store's time.
    ///
    /// The admitted units are those granted: zero in a set that another limit refused.
    pub fn decision(
        rule: impl Into<String>,
        key: impl Into<String>,
        at: Time,
        asked: u64,
        decision: &Decision,
    ) -> Self {
        let allowed = decision.is_allowed();
        Self {
            cost: if allowed { decision.granted() } else { asked },
            allowed,
            remaining: Some(decision.remaining()),
            retry_after_us: decision.retry_after().map(Span::as_micros),
            delay_us: decision.delay().as_micros(),
            ..Self::event(TraceEvent::Decision, rule, key, at)
        }
    }

    /// Creates the entry of another event that succeeded.
    pub fn event(
        event: TraceEvent,
        rule: impl Into<String>,
        key: impl Into<String>,
        at: Time,
    ) -> Self {
        Self {
            at: at.as_micros(),
            wall: None,
            node: String::new(),
            event,
            key: key.into(),
            rule: rule.into(),
            cost: 1,
            allowed: true,
            remaining: None,
            retry_after_us: None,
            delay_us: 0,
            patience_us: None,
            hold: None,
            source: DecisionSource::Store,
            waited_us: None,
        }
    }

    /// Returns the entry with this node.
    #[must_use]
    pub fn on(self, node: impl Into<String>) -> Self {
        Self { node: node.into(), ..self }
    }

    /// Returns the entry with this source.
    #[must_use]
    pub fn by(self, source: impl Into<DecisionSource>) -> Self {
        Self { source: source.into(), ..self }
    }

    /// Returns the entry with the id of the slots of this receipt.
    #[must_use]
    pub fn holding(self, receipt: &Receipt) -> Self {
        Self { hold: Some(name_of(receipt.id())), ..self }
    }

    /// Returns the entry with the caller's longest acceptable delay.
    #[must_use]
    pub fn with_max_delay(self, patience: Span) -> Self {
        Self { patience_us: Some(patience.as_micros()), ..self }
    }

    /// Returns the entry with this latency.
    #[must_use]
    pub fn waited(self, waited: Span) -> Self {
        Self { waited_us: Some(waited.as_micros()), ..self }
    }

    /// Returns when an allowed request proceeds.
    pub(crate) fn released_at(&self) -> u64 {
        self.at.saturating_add(self.delay_us)
    }
}

fn name_of(id: ChargeId) -> String {
    format!("{:x}", id.to_bits())
}

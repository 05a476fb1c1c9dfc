//! One line of a trace: what was asked, when, of which counter, and what was answered.

use serde::Serialize;
use sluicegate_core::{Decision, Id, Receipt, Span, Time};

use crate::source::Source;

/// One line of a trace. Times are microseconds: `at` since 1970, the others lengths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The deciding store's time.
    pub at: u64,
    /// The wall clock's time when the answer came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<u64>,
    /// Which node asked.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// What happened; a decision unless something else is said.
    #[serde(skip_serializing_if = "Event::is_decision")]
    pub event: Event,
    /// Whose counter.
    pub key: String,
    /// Of which rule of the header.
    pub rule: String,
    /// Units that were granted, or that were asked for and refused.
    pub cost: u64,
    /// Whether they were granted.
    pub allowed: bool,
    /// Units left after it, as the caller was told.
    pub remaining: Option<u64>,
    /// How long to wait before asking again, as the caller was told.
    pub retry_after_us: Option<u64>,
    /// How long the caller was told to hold the request back.
    #[serde(skip_serializing_if = "is_zero")]
    pub delay_us: u64,
    /// How long the caller was ready to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patience_us: Option<u64>,
    /// Names the slots that are taken, renewed or released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// Who answered.
    #[serde(skip_serializing_if = "Source::is_store")]
    pub source: Source,
    /// How long the answer took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_us: Option<u64>,
}

/// What happened to a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Units were asked for.
    #[default]
    Decision,
    /// Slots were given back.
    Release,
    /// Slots are kept for another lease.
    Renew,
    /// Units were charged without asking.
    Charge,
    /// Units were given back.
    Refund,
    /// The counter was emptied.
    Reset,
}

impl Event {
    pub(crate) const ALL: &'static str =
        "`decision`, `release`, `renew`, `charge`, `refund`, `reset`, `rules`, `gap` or `end`";

    /// The event of this name, as traces write it.
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

impl Entry {
    /// What one limit answered to a request for `asked` units, at the store's time.
    ///
    /// What counts as admitted is what was granted: nothing in a set that another limit refused.
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
            ..Self::event(Event::Decision, rule, key, at)
        }
    }

    /// Something else that happened to a counter, and succeeded.
    pub fn event(event: Event, rule: impl Into<String>, key: impl Into<String>, at: Time) -> Self {
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
            source: Source::Store,
            waited_us: None,
        }
    }

    /// The same on this node.
    #[must_use]
    pub fn on(self, node: impl Into<String>) -> Self {
        Self { node: node.into(), ..self }
    }

    /// The same, answered by this source.
    #[must_use]
    pub fn by(self, source: impl Into<Source>) -> Self {
        Self { source: source.into(), ..self }
    }

    /// The same about the slots of this receipt.
    #[must_use]
    pub fn holding(self, receipt: &Receipt) -> Self {
        Self { hold: Some(name_of(receipt.id())), ..self }
    }

    /// The same, asked by somebody who was ready to wait so long.
    #[must_use]
    pub fn patient(self, patience: Span) -> Self {
        Self { patience_us: Some(patience.as_micros()), ..self }
    }

    /// The same, answered after so long.
    #[must_use]
    pub fn waited(self, waited: Span) -> Self {
        Self { waited_us: Some(waited.as_micros()), ..self }
    }

    /// When a request that was allowed goes on.
    pub(crate) fn released_at(&self) -> u64 {
        self.at.saturating_add(self.delay_us)
    }
}

fn name_of(id: Id) -> String {
    format!("{:x}", id.to_bits())
}

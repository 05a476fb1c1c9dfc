//! One answer to a client, compact enough not to affect the trial's memory.

use sluicegate::DecidedBy;
use sluicegate_audit::TraceEntry;
use sluicegate_core::{Span, Time};

use super::rules::Rules;

/// One answer to a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    /// When the check was sent, by this machine.
    pub(crate) sent: Time,
    /// The time of the decision.
    pub(crate) at: Time,
    pub(crate) waited: Span,
    pub(crate) rule: usize,
    pub(crate) key: usize,
    pub(crate) node: usize,
    pub(crate) by: DecidedBy,
    pub(crate) allowed: bool,
    pub(crate) remaining: u64,
    pub(crate) retry_after: Option<Span>,
}

impl Record {
    pub(crate) fn answered(&self) -> Time {
        self.sent + self.waited
    }

    /// Whether the store was involved.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.by, DecidedBy::Store | DecidedBy::Memory)
    }

    pub(crate) fn entry(&self) -> TraceEntry {
        let rule = Rules::name(self.rule);
        let event = sluicegate_audit::TraceEvent::Decision;
        TraceEntry {
            allowed: self.allowed,
            remaining: Some(self.remaining),
            retry_after_us: self.retry_after.map(Span::as_micros),
            ..TraceEntry::event(event, rule, format!("caller {}", self.key), self.at)
        }
        .on(["a", "b"][self.node])
        .by(self.by)
        .waited(self.waited)
    }
}

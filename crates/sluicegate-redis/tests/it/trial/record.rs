//! One answer that a client got, in so few bytes that a trial's own memory does not show.

use sluicegate::By;
use sluicegate_audit::Entry;
use sluicegate_core::{Span, Time};

use super::rules::Rules;

/// One answer that a client got.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    /// When it asked, by this machine.
    pub(crate) asked: Time,
    /// The time of whoever decided.
    pub(crate) at: Time,
    pub(crate) waited: Span,
    pub(crate) rule: usize,
    pub(crate) key: usize,
    pub(crate) node: usize,
    pub(crate) by: By,
    pub(crate) allowed: bool,
    pub(crate) remaining: u64,
    pub(crate) retry_after: Option<Span>,
}

impl Record {
    pub(crate) fn answered(&self) -> Time {
        self.asked + self.waited
    }

    /// Whether the store had a say in it.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.by, By::Store | By::Memory)
    }

    pub(crate) fn entry(&self) -> Entry {
        let rule = Rules::name(self.rule);
        let event = sluicegate_audit::Event::Decision;
        Entry {
            allowed: self.allowed,
            remaining: Some(self.remaining),
            retry_after_us: self.retry_after.map(Span::as_micros),
            ..Entry::event(event, rule, format!("caller {}", self.key), self.at)
        }
        .on(["a", "b"][self.node])
        .by(self.by)
        .waited(self.waited)
    }
}

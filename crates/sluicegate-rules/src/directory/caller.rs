//! The record of one caller, and the history of its tier.

use std::sync::Arc;

use sluicegate::Time;

use super::{ListKind, TimeRange};
use crate::rule_set::limits::LimitSet;

/// The record of one caller.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallerRecord {
    pub(crate) tiers: Vec<Assigned>,
    pub(crate) listed: Vec<ListEntry>,
    pub(crate) overrides: Vec<Override>,
    /// The previous tiers: the last two changes, by the file or at run time.
    pub(crate) changed: Vec<FormerTier>,
}

/// A tier that is assigned to a caller for a time.
#[derive(Debug, Clone)]
pub(crate) struct Assigned {
    pub(crate) tier: Arc<str>,
    pub(crate) during: TimeRange,
}

/// A tier that a caller had until the file or an assignment changed it.
#[derive(Debug, Clone)]
pub(crate) struct FormerTier {
    pub(crate) tier: Arc<str>,
    pub(crate) at: Time,
    pub(crate) name: ChangeName,
}

/// Distinguishes changes between the same two tiers, equally on all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeName {
    /// The time of the change, which is part of the assignment and replicated with it.
    At(Time),
    /// The number of earlier changes by files, because each node loads files at its own time.
    InFiles(u64),
}

/// When a caller's tier last changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TierChange {
    pub(crate) before: Arc<str>,
    pub(crate) at: Time,
    pub(crate) name: ChangeName,
    /// When it changed before that.
    pub(crate) previous_at: Option<Time>,
}

#[derive(Debug, Clone)]
pub(crate) struct ListEntry {
    pub(crate) listing: ListKind,
    pub(crate) during: TimeRange,
}

/// Other limits than the rule's, for one caller.
#[derive(Debug, Clone)]
pub(crate) struct Override {
    pub(crate) rule: Box<str>,
    pub(crate) limit_set: Arc<LimitSet>,
    pub(crate) during: TimeRange,
}

impl ChangeName {
    /// The encoding for a digest: the kind, and the number within the kind.
    pub(crate) fn to_bytes(self) -> ([u8; 1], [u8; 8]) {
        match self {
            Self::At(at) => ([0], at.as_micros().to_le_bytes()),
            Self::InFiles(number) => ([1], number.to_le_bytes()),
        }
    }
}

impl Assigned {
    /// A tier without end.
    pub(crate) fn always(tier: Arc<str>) -> Self {
        Self { tier, during: TimeRange::default() }
    }
}

impl CallerRecord {
    /// Records that the caller had tier `before` until an assignment at `now`.
    pub(crate) fn note_change(&mut self, before: Arc<str>, now: Time) {
        self.note(FormerTier { tier: before, at: now, name: ChangeName::At(now) });
    }

    /// Records that the caller had tier `before` until a file loaded at `now` changed it.
    pub(crate) fn note_change_in_file(&mut self, before: Arc<str>, now: Time) {
        let numbers = self.changed.iter().filter_map(|one| match one.name {
            ChangeName::InFiles(number) => Some(number + 1),
            ChangeName::At(_) => None,
        });
        let name = ChangeName::InFiles(numbers.max().unwrap_or(0));
        self.note(FormerTier { tier: before, at: now, name });
    }

    fn note(&mut self, left: FormerTier) {
        self.changed.push(left);
        // Of the changes before the last one, only the time of the most recent is needed.
        let old = self.changed.len().saturating_sub(2);
        self.changed.drain(..old);
    }

    /// Whether the record contains nothing but changes made up to `over`.
    pub(super) fn is_over(&self, over: Time) -> bool {
        let nothing = self.tiers.is_empty() && self.listed.is_empty() && self.overrides.is_empty();
        nothing && self.changed.iter().all(|one| one.at <= over)
    }

    pub(crate) fn tier_at(&self, now: Time) -> Option<&Assigned> {
        // The last assignment takes precedence: one for a limited time follows the permanent one.
        self.tiers.iter().rev().find(|assigned| assigned.during.contains(now))
    }

    /// The last change of the caller's tier up to `now`.
    ///
    /// Either a recorded one, or the start or end of a temporary assignment. `default` is the tier
    /// of callers without an assignment.
    pub(crate) fn change_before(&self, now: Time, default: &Arc<str>) -> Option<TierChange> {
        let tier_at = |time| self.tier_at(time).map_or(default, |assigned| &assigned.tier);
        let edges = self.tiers.iter().flat_map(|one| [one.during.from, one.during.until]).flatten();
        let crossed =
            edges.filter(|edge| *edge <= now && edge.as_micros() > 0).filter_map(|edge| {
                let before = tier_at(Time::from_micros(edge.as_micros() - 1));
                let left =
                    || FormerTier { tier: before.clone(), at: edge, name: ChangeName::At(edge) };
                (before != tier_at(edge)).then(left)
            });
        let mut changes: Vec<FormerTier> = crossed.chain(self.changed.clone()).collect();
        changes.sort_by_key(|one| one.at);
        let FormerTier { tier: before, at, name } = changes.pop()?;
        let previous_at = changes.pop().map(|one| one.at);
        Some(TierChange { before, at, name, previous_at })
    }

    pub(crate) fn listing_at(&self, now: Time) -> Option<ListKind> {
        let mut listed = self.listed.iter().filter(|listed| listed.during.contains(now));
        let first = listed.next()?.listing;
        // The block-list takes precedence.
        let blocked =
            first == ListKind::Block || listed.any(|other| other.listing == ListKind::Block);
        Some(if blocked { ListKind::Block } else { ListKind::Allow })
    }

    pub(crate) fn override_at(&self, rule: &str, now: Time) -> Option<&Arc<LimitSet>> {
        let fitting = |one: &&Override| &*one.rule == rule && one.during.contains(now);
        self.overrides.iter().rev().find(fitting).map(|one| &one.limit_set)
    }
}

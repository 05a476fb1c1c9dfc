//! What is known of one caller, and how that changed.

use std::sync::Arc;

use sluicegate::Time;

use super::{During, Listing};
use crate::limits::Windows;

/// What is known of one caller.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    pub(crate) tiers: Vec<Assigned>,
    pub(crate) listed: Vec<Listed>,
    pub(crate) overrides: Vec<Override>,
    /// The tiers that the caller had before: the last two changes that files or others made.
    pub(crate) changed: Vec<Left>,
}

/// A tier that a caller has for a time.
#[derive(Debug, Clone)]
pub(crate) struct Assigned {
    pub(crate) tier: Arc<str>,
    pub(crate) during: During,
}

/// A tier that a caller had until a file or others said something else.
#[derive(Debug, Clone)]
pub(crate) struct Left {
    pub(crate) tier: Arc<str>,
    pub(crate) at: Time,
    pub(crate) name: ChangeName,
}

/// What tells a change from others between the same two tiers, on all nodes alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeName {
    /// When it was made: part of what is said of a caller, and travels with it.
    At(Time),
    /// How many changes by files went before it: each node reads them at a time of its own.
    InFiles(u64),
}

/// When a caller's tier last changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) before: Arc<str>,
    pub(crate) at: Time,
    pub(crate) name: ChangeName,
    /// When it had changed before that.
    pub(crate) again: Option<Time>,
}

#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) listing: Listing,
    pub(crate) during: During,
}

/// Other limits than the rule's, for one caller.
#[derive(Debug, Clone)]
pub(crate) struct Override {
    pub(crate) rule: Box<str>,
    pub(crate) windows: Arc<Windows>,
    pub(crate) during: During,
}

impl ChangeName {
    /// What it is to a digest: of which kind, and which of those.
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
        Self { tier, during: During::default() }
    }
}

impl Standing {
    /// Notes that the caller had another tier until somebody said so now.
    pub(crate) fn note_change(&mut self, before: Arc<str>, now: Time) {
        self.note(Left { tier: before, at: now, name: ChangeName::At(now) });
    }

    /// The same, where it is a file that says so.
    pub(crate) fn note_change_in_file(&mut self, before: Arc<str>, now: Time) {
        let numbers = self.changed.iter().filter_map(|one| match one.name {
            ChangeName::InFiles(number) => Some(number + 1),
            ChangeName::At(_) => None,
        });
        let name = ChangeName::InFiles(numbers.max().unwrap_or(0));
        self.note(Left { tier: before, at: now, name });
    }

    fn note(&mut self, left: Left) {
        self.changed.push(left);
        // Of changes before the last it is enough to know that there was one.
        let old = self.changed.len().saturating_sub(2);
        self.changed.drain(..old);
    }

    /// Whether there is nothing to know but changes, and those are over.
    pub(super) fn is_over(&self, over: Time) -> bool {
        let nothing = self.tiers.is_empty() && self.listed.is_empty() && self.overrides.is_empty();
        nothing && self.changed.iter().all(|one| one.at <= over)
    }

    pub(crate) fn tier_at(&self, now: Time) -> Option<&Assigned> {
        // The last word counts: what is added for a time stands behind what was there.
        self.tiers.iter().rev().find(|assigned| assigned.during.contains(now))
    }

    /// The last change of the caller's tier up to `now`: one that files or others made, or a tier
    /// for a time that has begun or ended. `default` is the tier of those who have none.
    pub(crate) fn change_before(&self, now: Time, default: &Arc<str>) -> Option<Change> {
        let tier_at = |time| self.tier_at(time).map_or(default, |assigned| &assigned.tier);
        let edges = self.tiers.iter().flat_map(|one| [one.during.from, one.during.until]).flatten();
        let crossed =
            edges.filter(|edge| *edge <= now && edge.as_micros() > 0).filter_map(|edge| {
                let before = tier_at(Time::from_micros(edge.as_micros() - 1));
                let left = || Left { tier: before.clone(), at: edge, name: ChangeName::At(edge) };
                (before != tier_at(edge)).then(left)
            });
        let mut changes: Vec<Left> = crossed.chain(self.changed.clone()).collect();
        changes.sort_by_key(|one| one.at);
        let Left { tier: before, at, name } = changes.pop()?;
        let again = changes.pop().map(|one| one.at);
        Some(Change { before, at, name, again })
    }

    pub(crate) fn listing_at(&self, now: Time) -> Option<Listing> {
        let mut listed = self.listed.iter().filter(|listed| listed.during.contains(now));
        let first = listed.next()?.listing;
        // Who is on both lists is kept out.
        let blocked =
            first == Listing::Block || listed.any(|other| other.listing == Listing::Block);
        Some(if blocked { Listing::Block } else { Listing::Allow })
    }

    pub(crate) fn override_at(&self, rule: &str, now: Time) -> Option<&Arc<Windows>> {
        let fitting = |one: &&Override| &*one.rule == rule && one.during.contains(now);
        self.overrides.iter().rev().find(fitting).map(|one| &one.windows)
    }
}

//! Rules that are edited while callers use them: nobody gets a second burst.
//!
//! A bucket keeps the moment at which it will be full. Under a quota that takes longer to recover the
//! same moment is a smaller share used, and the rest would be handed out a second time. So such a
//! bucket is rescaled once, as after a change of tier: what was used is used in units. If the rule is
//! edited again before it has recovered, the share stays, or who went down and up again would gain.
//! Who was not there in between may still be as far as under the shortest of the quotas since: the
//! share is that of the shortest.
//!
//! Nodes that share a store each learn of an edit by themselves, at times of their own. What they call
//! it is made of what all of them see, so that the bucket is rescaled once by all of them together.

use std::collections::HashMap;

use sluicegate::{Limit, Quota, Span, Time};

use crate::limits::{Limits, Windows};
use crate::rule::Rule;
use crate::tier::Tiers;

/// Within this time the same edit reaches every node that shares a store.
pub(crate) const SPREAD: Span = Span::from_secs(60);

/// What has become of a rule while callers used it.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    /// The buckets that are to be rescaled.
    pub(crate) rescaled: Vec<Rescaled>,
    /// Until then something may be used that was used before an edit.
    settled_at: Option<Time>,
    /// The limits that edits led to, of which a store may still know.
    entered: Vec<Entered>,
}

/// A limit that an edit led to.
#[derive(Debug, Clone)]
struct Entered {
    limit: Box<str>,
    place: usize,
    edit: Edit,
    /// From then on no store knows of it any more.
    forgotten_at: Time,
}

/// What all nodes call the edits that lead to a limit.
///
/// What it was before is not part of it: a node that has missed a version in between would call the
/// same change by another name, and read what is used a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edit {
    capacity: u64,
    recovery: Span,
    /// How often edits have led to it before, without it being forgotten.
    times: u64,
}

impl Edit {
    pub(crate) fn to_bytes(self) -> [[u8; 8]; 3] {
        [self.capacity, self.recovery.as_micros(), self.times].map(u64::to_le_bytes)
    }
}

/// A bucket whose quota takes longer to recover than before.
#[derive(Debug, Clone)]
pub(crate) struct Rescaled {
    /// The name of its limit …
    pub(crate) limit: Box<str>,
    /// … and its place among the ways the rule may be limited: one for each tier.
    pub(crate) place: usize,
    /// What it is read under …
    pub(crate) from: Quota,
    /// … and the shortest that it may have to recover from.
    shortest: Span,
    /// From then on nothing is used any more that was used under it.
    pub(crate) until: Time,
    /// Which edit it was.
    pub(crate) edit: Edit,
}

/// The rules before an edit.
pub(crate) struct Before<'b> {
    pub(crate) rules: &'b [Rule],
    pub(crate) tiers: Option<&'b Tiers>,
}

/// Notes in each rule what has changed since `before`.
pub(crate) fn learn(rules: &mut [Rule], tiers: Option<&Tiers>, before: &Before<'_>, now: Time) {
    let by_name: HashMap<&str, &Rule> =
        before.rules.iter().map(|rule| (&*rule.name, rule)).collect();
    for rule in rules {
        let Some(old) = by_name.get(&*rule.name) else { continue };
        let mut comparison = Comparison { old, now, edits: Edits::default() };
        for (place, windows) in rule.limits.each().iter().enumerate() {
            let old_place = match (&rule.limits, &old.limits) {
                (Limits::Same(_), Limits::Same(_)) => Some(0),
                (Limits::ByTier { .. }, Limits::ByTier { .. }) => {
                    let name = tiers.and_then(|tiers| tiers.names.get(place));
                    name.and_then(|name| Some(before.tiers?.named(name)?.0))
                }
                // Who had which is not known.
                _ => None,
            };
            if let Some(old_place) = old_place {
                comparison.compare(windows, place, old_place);
            }
        }
        rule.edits = comparison.edits;
    }
}

struct Comparison<'b> {
    old: &'b Rule,
    now: Time,
    edits: Edits,
}

impl Comparison<'_> {
    fn compare(&mut self, windows: &Windows, place: usize, old_place: usize) {
        let earlier = &self.old.edits;
        self.edits.settled_at =
            self.edits.settled_at.max(earlier.settled_at.filter(|settled| self.now < *settled));
        // Of an earlier edit: other tiers that this one changes say nothing about the callers of this tier.
        let restless = earlier.settled_at.is_some_and(|settled| self.now < settled);
        let known = |one: &&Entered| one.place == old_place && self.now < one.forgotten_at;
        let known = earlier.entered.iter().filter(known);
        self.edits.entered.extend(known.map(|one| Entered { place, ..one.clone() }));
        let Some(old_windows) = self.old.limits.each().get(old_place) else { return };
        for (limit, _) in windows.limits() {
            let name = limit.name();
            let mut olds = old_windows.limits();
            let Some((old, old_quota)) = olds.find(|(old, _)| old.name() == name) else { continue };
            // An earlier edit that may still have to be told.
            let pending = earlier.rescaled.iter().find(|edit| {
                *edit.limit == *name && edit.place == old_place && self.now < edit.until
            });
            if old == limit {
                self.edits.rescaled.extend(pending.map(|edit| Rescaled { place, ..edit.clone() }));
                continue;
            }
            let (Some(before), Some(after)) = (old.recovery(), limit.recovery()) else {
                continue;
            };
            let longest = before.max(after);
            self.edits.settled_at = self.edits.settled_at.max(Some(self.now + longest));
            let shortest = pending.map_or(before, |edit| before.min(edit.shortest));
            let moved = is_bucket(old) && is_bucket(limit) && shortest < after;
            let unsure = restless || pending.is_some();
            let from = if unsure { share(limit, shortest) } else { old_quota };
            if let Some(from) = from.filter(|_| moved) {
                let edit = self.edits.enter((name, place), limit.capacity(), after, self.now);
                let until = self.now + before + SPREAD;
                let limit = name.into();
                self.edits.rescaled.push(Rescaled { limit, place, from, shortest, until, edit });
            }
        }
    }
}

impl Edits {
    /// Notes that an edit has led to a limit; what that edit is called.
    fn enter(
        &mut self,
        (limit, place): (&str, usize),
        capacity: u64,
        recovery: Span,
        now: Time,
    ) -> Edit {
        // The last node tells of it for as long as something is used, and then a store remembers it
        // for as long as a debt of another capacity takes to be paid.
        let forgotten_at = (0..3).fold(now, |time, _| time + recovery + SPREAD);
        let same = |one: &&mut Entered| {
            (&*one.limit, one.place, one.edit.capacity, one.edit.recovery)
                == (limit, place, capacity, recovery)
        };
        if let Some(again) = self.entered.iter_mut().find(same) {
            again.edit.times += 1;
            again.forgotten_at = forgotten_at;
            return again.edit;
        }
        let edit = Edit { capacity, recovery, times: 0 };
        self.entered.push(Entered { limit: limit.into(), place, edit, forgotten_at });
        edit
    }
}

/// The quota under which as many units are used as are the same share of a limit.
fn share(limit: &Limit, recovery: Span) -> Option<Quota> {
    Quota::new(limit.capacity(), recovery).ok()
}

/// Whether a limit keeps a moment.
fn is_bucket(limit: &Limit) -> bool {
    matches!(limit.algorithm(), "token_bucket" | "leaky_bucket" | "queue")
}

//! Carry-over of usage when rules are edited, so that no caller gets a second burst.
//!
//! A bucket stores the time at which it will be full. Under a quota with a longer recovery the same
//! time means a smaller used fraction, so a part of the burst would be granted twice. Such a bucket
//! is rescaled once, as after a change of tier, to keep the used units. If the rule is edited again
//! before the bucket has recovered, keep the used *fraction*: otherwise lowering and raising a
//! quota would mint units. The fraction is that of the shortest recovery since, because a bucket
//! may not have been touched in between.
//!
//! Nodes that share a store load an edit independently, at different times. They derive its id from
//! data that all of them see, so that the bucket is rescaled only once.

use std::collections::HashMap;

use sluicegate::{Limit, Quota, Span, Time};

use crate::rule_set::limits::{LimitSet, Limits};
use crate::rule_set::rule::Rule;
use crate::rule_set::tiers::Tiers;

/// The time within which an edit reaches every node that shares a store.
pub(crate) const SPREAD: Span = Span::from_secs(60);

/// The edits of a rule's quotas whose effects may persist in stores.
#[derive(Debug, Default)]
pub(crate) struct QuotaEdits {
    /// The pending rescales of buckets.
    pub(crate) rescaled: Vec<PendingRescale>,
    /// The time at which all usage from before an edit has recovered.
    settled_at: Option<Time>,
    /// The limits that edits led to and that a store may still remember.
    entered: Vec<SeenLimit>,
}

/// A limit that an edit led to.
#[derive(Debug, Clone)]
struct SeenLimit {
    limit: Box<str>,
    place: usize,
    edit: EditId,
    /// The time from which no store remembers it.
    forgotten_at: Time,
}

/// The id of an edit, the same on all nodes.
///
/// The previous limit is not part of it: a node that missed a version in between would derive
/// another id for the same edit, and rescale the bucket a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EditId {
    capacity: u64,
    recovery: Span,
    /// The number of earlier edits to the same limit that a store may still remember.
    times: u64,
}

impl EditId {
    pub(crate) fn to_bytes(self) -> [[u8; 8]; 3] {
        [self.capacity, self.recovery.as_micros(), self.times].map(u64::to_le_bytes)
    }
}

/// A rescale of a bucket whose quota takes longer to recover than before.
#[derive(Debug, Clone)]
pub(crate) struct PendingRescale {
    /// The name of its limit.
    pub(crate) limit: Box<str>,
    /// The index of its limit set in the rule: one for each tier.
    pub(crate) place: usize,
    /// The quota under which the state of the bucket is interpreted.
    pub(crate) from: Quota,
    /// The shortest recovery time since the bucket may have been touched last.
    shortest: Span,
    /// The time from which all usage under the old quota has recovered.
    pub(crate) until: Time,
    /// The id of the edit.
    pub(crate) edit: EditId,
}

/// The rules before an edit.
pub(crate) struct PreviousRules<'b> {
    pub(crate) rules: &'b [Rule],
    pub(crate) tiers: Option<&'b Tiers>,
}

/// Records in each rule the edits since `before`.
pub(crate) fn diff(
    rules: &mut [Rule],
    tiers: Option<&Tiers>,
    before: &PreviousRules<'_>,
    now: Time,
) {
    let by_name: HashMap<&str, &Rule> =
        before.rules.iter().map(|rule| (&*rule.name, rule)).collect();
    for rule in rules {
        let Some(old) = by_name.get(&*rule.name) else { continue };
        let mut comparison = Diff { old, now, edits: QuotaEdits::default() };
        for (place, limits) in rule.limits.each().iter().enumerate() {
            let old_place = match (&rule.limits, &old.limits) {
                (Limits::Same(_), Limits::Same(_)) => Some(0),
                (Limits::ByTier { .. }, Limits::ByTier { .. }) => {
                    let name = tiers.and_then(|tiers| tiers.names.get(place));
                    name.and_then(|name| Some(before.tiers?.named(name)?.0))
                }
                // It is unknown which caller had which limits.
                _ => None,
            };
            if let Some(old_place) = old_place {
                comparison.compare(limits, place, old_place);
            }
        }
        rule.edits = comparison.edits;
    }
}

struct Diff<'b> {
    old: &'b Rule,
    now: Time,
    edits: QuotaEdits,
}

impl Diff<'_> {
    fn compare(&mut self, limits: &LimitSet, place: usize, old_place: usize) {
        let earlier = &self.old.edits;
        self.edits.settled_at =
            self.edits.settled_at.max(earlier.settled_at.filter(|settled| self.now < *settled));
        // Only earlier edits count: changes of other tiers by this edit do not affect the callers
        // of this tier.
        let still_recovering = earlier.settled_at.is_some_and(|settled| self.now < settled);
        let remembered = |one: &&SeenLimit| one.place == old_place && self.now < one.forgotten_at;
        let remembered = earlier.entered.iter().filter(remembered);
        self.edits.entered.extend(remembered.map(|one| SeenLimit { place, ..one.clone() }));
        let Some(old_limits) = self.old.limits.each().get(old_place) else { return };
        for limit in limits.limits() {
            let name = limit.name();
            let mut candidates = old_limits.limits();
            let Some(old) = candidates.find(|old| old.name() == name) else {
                continue;
            };
            // An earlier edit whose rescale may still have to be sent.
            let pending = earlier.rescaled.iter().find(|edit| {
                *edit.limit == *name && edit.place == old_place && self.now < edit.until
            });
            if old == limit {
                self.edits
                    .rescaled
                    .extend(pending.map(|edit| PendingRescale { place, ..edit.clone() }));
                continue;
            }
            let (Some(before), Some(after)) = (old.recovery(), limit.recovery()) else {
                continue;
            };
            let longest = before.max(after);
            self.edits.settled_at = self.edits.settled_at.max(Some(self.now + longest));
            let shortest = pending.map_or(before, |edit| before.min(edit.shortest));
            let needs_rescale = is_bucket(old) && is_bucket(limit) && shortest < after;
            let keeps_fraction = still_recovering || pending.is_some();
            let from = if keeps_fraction { share(limit, shortest) } else { old.quota() };
            if let Some(from) = from.filter(|_| needs_rescale) {
                let edit = self.edits.enter((name, place), limit.capacity(), after, self.now);
                let until = self.now + before + SPREAD;
                let limit = name.into();
                self.edits.rescaled.push(PendingRescale {
                    limit,
                    place,
                    from,
                    shortest,
                    until,
                    edit,
                });
            }
        }
    }
}

impl QuotaEdits {
    /// Records that an edit led to a limit, and returns the id of the edit.
    fn enter(
        &mut self,
        (limit, place): (&str, usize),
        capacity: u64,
        recovery: Span,
        now: Time,
    ) -> EditId {
        // The last node sends the rescale for as long as units are in use, and then a store
        // remembers it for as long as a debt of another capacity takes to recover.
        let forgotten_at = (0..3).fold(now, |time, _| time + recovery + SPREAD);
        let same = |one: &&mut SeenLimit| {
            (&*one.limit, one.place, one.edit.capacity, one.edit.recovery)
                == (limit, place, capacity, recovery)
        };
        if let Some(again) = self.entered.iter_mut().find(same) {
            again.edit.times += 1;
            again.forgotten_at = forgotten_at;
            return again.edit;
        }
        let edit = EditId { capacity, recovery, times: 0 };
        self.entered.push(SeenLimit { limit: limit.into(), place, edit, forgotten_at });
        edit
    }
}

/// The quota under which the used fraction of a bucket stays the same in a new limit.
fn share(limit: &Limit, recovery: Span) -> Option<Quota> {
    Quota::new(limit.capacity(), recovery).ok()
}

/// Whether a limit stores a time.
fn is_bucket(limit: &Limit) -> bool {
    limit.spec().is_bucket()
}

//! Rules that are edited while callers use them: nobody gets a second burst.
//!
//! A bucket keeps the moment at which it will be full. Under a quota that takes longer to recover the
//! same moment is a smaller share used, and the rest would be handed out a second time. So such a
//! bucket is rescaled once, as after a change of tier: what was used is used in units. If the rule is
//! edited again before it has recovered, the share stays, or who went down and up again would gain.

use std::collections::HashMap;

use tollgate::{Limit, Quota, Span, Time};

use crate::limits::{Limits, Windows};
use crate::rule::Rule;
use crate::tier::Tiers;

/// What has become of a rule while callers used it.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    /// The buckets that are to be rescaled.
    pub(crate) rescaled: Vec<Rescaled>,
    /// Until then something may be used that was used before an edit.
    settled_at: Option<Time>,
}

/// A bucket whose quota takes longer to recover than before.
#[derive(Debug, Clone)]
pub(crate) struct Rescaled {
    /// The name of its limit …
    pub(crate) limit: Box<str>,
    /// … and its place among the ways the rule may be limited: one for each tier.
    pub(crate) place: usize,
    /// What it is read under.
    pub(crate) from: Quota,
    /// From then on nothing is used any more that was used under it.
    pub(crate) until: Time,
    /// Which edit it was; no other has the same.
    pub(crate) edit: [u64; 2],
}

/// The rules before an edit.
pub(crate) struct Before<'b> {
    pub(crate) rules: &'b [Rule],
    pub(crate) tiers: Option<&'b Tiers>,
}

/// Notes in each rule what has changed since `before`.
pub(crate) fn learn(
    rules: &mut [Rule],
    tiers: Option<&Tiers>,
    before: &Before<'_>,
    now: Time,
    generation: u64,
) {
    let by_name: HashMap<&str, &Rule> =
        before.rules.iter().map(|rule| (&*rule.name, rule)).collect();
    for rule in rules {
        let Some(old) = by_name.get(&*rule.name) else { continue };
        let mut comparison = Comparison { old, now, generation, edits: Edits::default() };
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
    generation: u64,
    edits: Edits,
}

impl Comparison<'_> {
    fn compare(&mut self, windows: &Windows, place: usize, old_place: usize) {
        let earlier = &self.old.edits;
        self.edits.settled_at =
            self.edits.settled_at.max(earlier.settled_at.filter(|settled| self.now < *settled));
        let restless = self.edits.settled_at.is_some();
        let Some(old_windows) = self.old.limits.each().get(old_place) else { return };
        for (limit, _) in windows.limits() {
            let name = limit.name();
            let mut olds = old_windows.limits();
            let Some((old, old_quota)) = olds.find(|(old, _)| old.name() == name) else { continue };
            if old == limit {
                // Not edited now; an earlier edit may still have to be told.
                let told = earlier.rescaled.iter().find(|edit| {
                    *edit.limit == *name && edit.place == old_place && self.now < edit.until
                });
                self.edits.rescaled.extend(told.map(|edit| Rescaled { place, ..edit.clone() }));
                continue;
            }
            let (Some(before), Some(after)) = (old.recovery(), limit.recovery()) else {
                continue;
            };
            let settled = self.now + before.max(after);
            self.edits.settled_at = self.edits.settled_at.max(Some(settled));
            let moved = is_bucket(old) && is_bucket(limit) && before < after;
            let from = if restless { share(limit, before) } else { old_quota };
            if let Some(from) = from.filter(|_| moved) {
                let edit = [self.now.as_micros(), self.generation];
                let until = self.now + before;
                self.edits.rescaled.push(Rescaled { limit: name.into(), place, from, until, edit });
            }
        }
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

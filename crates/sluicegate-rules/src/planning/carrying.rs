//! What was used carries over a change: buckets are rescaled, once.

use std::ops::Range;

use sluicegate::{Id, Quota};

use super::walking::{Planning, Rescale};
use crate::directory::Change;
use crate::edited::SPREAD;
use crate::facts::Facts;
use crate::limits::Windows;
use crate::rule::Rule;

/// What a digest is of; see [`crate::identity`].
const DIGEST_OF_CHANGE: u8 = 4;

impl<'p> Planning<'p, '_> {
    /// After an edit of the rule too, unless the caller's tier changed as well.
    pub(super) fn carry_over_edit(
        &mut self,
        index: u32,
        key: &Range<usize>,
        rule: &'p Rule,
        (place, windows): (usize, Option<&'p Windows>),
        facts: &Facts<'p>,
    ) {
        for edit in
            rule.edits.rescaled.iter().filter(|edit| edit.place == place && facts.now < edit.until)
        {
            let mut limits = windows.into_iter().flat_map(Windows::limits);
            let Some((limit, _)) = limits.find(|(limit, _)| limit.name() == &*edit.limit) else {
                continue;
            };
            let told = |one: &Rescale<'_>| one.rule == index && one.limit.name() == &*edit.limit;
            if self.rescales.iter().any(told) {
                continue;
            }
            let [capacity, recovery, times] = edit.edit.to_bytes();
            let key = self.desk.keys.get(key.clone());
            let parts = [edit.limit.as_bytes(), key, &capacity, &recovery, &times];
            let digest = facts.rules.digester.digest(DIGEST_OF_CHANGE, parts);
            let id = Id::from_bits(u128::from_le_bytes(digest));
            self.rescales.push(Rescale { rule: index, limit, from: edit.from, id });
        }
    }

    /// After a change of tier what was used carries over in units: buckets are rescaled, once.
    pub(super) fn carry_over(
        &mut self,
        index: u32,
        key: &Range<usize>,
        rule: &'p Rule,
        windows: Option<&'p Windows>,
        facts: &mut Facts<'p>,
    ) {
        let (now, rules) = (facts.now, facts.rules);
        let Some(tiers) = rules.tiers.as_ref().filter(|_| rule.carries_over) else { return };
        if facts.standings().is_empty() {
            return;
        }
        let default = tiers.default_name();
        let Some(after) = facts.tier().map(|tier| tiers.name(tier)) else { return };
        // The standing that says which tier it is, or the one that has ceased to.
        let standings = facts.standings();
        let deciding = standings.iter().find(|(_, standing)| standing.tier_at(now).is_some());
        let change = match deciding {
            Some((_, standing)) => standing.change_before(now, default),
            None => standings.iter().find_map(|(_, one)| one.change_before(now, default)),
        };
        let Some(change) = change.filter(|one| *one.before != *after) else { return };
        let Change { before, at, name, again } = change;
        let before_it = tiers.named(&before).and_then(|tier| rule.limits.of(Some(tier)));
        let Some(old) = before_it else { return };
        for (limit, quota) in windows.into_iter().flat_map(Windows::limits) {
            let mut olds = old.limits();
            let Some((old, from)) = olds.find(|(old, _)| old.name() == limit.name()) else {
                continue;
            };
            let (Some(mut from), Some(before_it), Some(own)) =
                (from, old.recovery(), limit.recovery())
            else {
                continue;
            };
            let longest = before_it.max(own);
            if Some(from) == quota || now >= at + longest + SPREAD {
                continue;
            }
            let restless = again.is_some_and(|again| at < again + longest);
            if restless && limit.capacity() > old.capacity() {
                // It has not recovered from the change before: whose units these are is not known, and
                // who went down and up again would gain. So the share stays.
                let Ok(share) = Quota::new(limit.capacity(), before_it.min(own)) else { continue };
                from = share;
            }
            let key = self.desk.keys.get(key.clone());
            let (kind, which) = name.to_bytes();
            let (before, after) = (before.as_bytes(), after.as_bytes());
            let parts = [limit.name().as_bytes(), key, before, after, &kind, &which];
            let digest = rules.digester.digest(DIGEST_OF_CHANGE, parts);
            let id = Id::from_bits(u128::from_le_bytes(digest));
            self.rescales.push(Rescale { rule: index, limit, from, id });
        }
    }
}

//! One-time rescaling of buckets after a change of limits, so that usage carries over.

use std::ops::Range;

use sluicegate::{ChargeId, Quota};

use super::collect::{CallerRescale, Collector};
use crate::directory::TierChange;
use crate::request::context::RequestContext;
use crate::rule_set::limits::LimitSet;
use crate::rule_set::reload::SPREAD;
use crate::rule_set::rule::Rule;

/// The digest domain of changes; see [`crate::request::identity`] for the others.
const DIGEST_OF_CHANGE: u8 = 4;

impl<'p> Collector<'p, '_> {
    /// Adds the rescales after an edit of the rule, unless the caller's tier changed as well.
    pub(super) fn carry_over_edit(
        &mut self,
        index: u32,
        key: &Range<usize>,
        rule: &'p Rule,
        (place, limits): (usize, Option<&'p LimitSet>),
        context: &RequestContext<'p>,
    ) {
        for edit in rule
            .edits
            .rescaled
            .iter()
            .filter(|edit| edit.place == place && context.now < edit.until)
        {
            let mut limits = limits.into_iter().flat_map(LimitSet::limits);
            let Some(limit) = limits.find(|limit| limit.name() == &*edit.limit) else {
                continue;
            };
            let same =
                |one: &CallerRescale<'_>| one.rule == index && one.limit.name() == &*edit.limit;
            if self.rescales.iter().any(same) {
                continue;
            }
            let [capacity, recovery, times] = edit.edit.to_bytes();
            let key = self.buffer.keys.get(key.clone());
            let parts = [edit.limit.as_bytes(), key, &capacity, &recovery, &times];
            let digest = context.rules.hasher.digest(DIGEST_OF_CHANGE, parts);
            let id = ChargeId::from_bits(u128::from_le_bytes(digest));
            self.rescales.push(CallerRescale { rule: index, limit, from: edit.from, id });
        }
    }

    /// Adds the rescales after a change of the caller's tier; used units carry over.
    pub(super) fn carry_over(
        &mut self,
        index: u32,
        key: &Range<usize>,
        rule: &'p Rule,
        limits: Option<&'p LimitSet>,
        context: &mut RequestContext<'p>,
    ) {
        let (now, rules) = (context.now, context.rules);
        let Some(tiers) = rules.tiers.as_ref().filter(|_| rule.carries_over) else { return };
        if context.caller_records().is_empty() {
            return;
        }
        let default = tiers.default_name();
        let Some(after) = context.tier().map(|tier| tiers.name(tier)) else { return };
        // The record that determines the tier now, or the first one that did before.
        let records = context.caller_records();
        let deciding = records.iter().find(|(_, record)| record.tier_at(now).is_some());
        let change = match deciding {
            Some((_, record)) => record.change_before(now, default),
            None => records.iter().find_map(|(_, record)| record.change_before(now, default)),
        };
        let Some(change) = change.filter(|one| *one.before != *after) else { return };
        let TierChange { before, at, name, previous_at } = change;
        let old_limits = tiers.named(&before).and_then(|tier| rule.limits.of(Some(tier)));
        let Some(old_limits) = old_limits else { return };
        for limit in limits.into_iter().flat_map(LimitSet::limits) {
            let mut candidates = old_limits.limits();
            let Some(old) = candidates.find(|old| old.name() == limit.name()) else {
                continue;
            };
            let (Some(mut from), Some(old_recovery), Some(recovery)) =
                (old.quota(), old.recovery(), limit.recovery())
            else {
                continue;
            };
            let longest = old_recovery.max(recovery);
            if Some(from) == limit.quota() || now >= at + longest + SPREAD {
                continue;
            }
            let still_recovering = previous_at.is_some_and(|previous| at < previous + longest);
            if still_recovering && limit.capacity() > old.capacity() {
                // The bucket has not recovered from the previous change, so the quota under which
                // its units were used is unknown. Keep the used fraction: otherwise a caller would
                // gain units by a downgrade and an upgrade.
                let Ok(share) = Quota::new(limit.capacity(), old_recovery.min(recovery)) else {
                    continue;
                };
                from = share;
            }
            let key = self.buffer.keys.get(key.clone());
            let (kind, which) = name.to_bytes();
            let (before, after) = (before.as_bytes(), after.as_bytes());
            let parts = [limit.name().as_bytes(), key, before, after, &kind, &which];
            let digest = rules.hasher.digest(DIGEST_OF_CHANGE, parts);
            let id = ChargeId::from_bits(u128::from_le_bytes(digest));
            self.rescales.push(CallerRescale { rule: index, limit, from, id });
        }
    }
}

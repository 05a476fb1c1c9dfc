//! What was used carries over a change: buckets are rescaled, once.

use std::ops::Range;

use tollgate::Id;

use super::walking::{Planning, Rescale};
use crate::directory::Change;
use crate::facts::Facts;
use crate::limits::{Owing, Windows};
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
            let mut owed = windows.map_or(&[][..], Windows::owed).iter();
            let Some(owing) = owed.find(|owing| owing.limit.name() == &*edit.limit) else {
                continue;
            };
            let told = |one: &Rescale<'_>| one.rule == index && one.limit.name() == &*edit.limit;
            if self.rescales.iter().any(told) {
                continue;
            }
            let [at, generation] = edit.edit.map(u64::to_le_bytes);
            let key = self.desk.keys.get(key.clone());
            let parts = [edit.limit.as_bytes(), key, &at, &generation];
            let digest = facts.rules.digester.digest(DIGEST_OF_CHANGE, parts);
            let id = Id::from_bits(u128::from_le_bytes(digest));
            self.rescales.push(Rescale { rule: index, limit: &owing.limit, from: edit.from, id });
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
        let default = tiers.default_name();
        let mut standings = facts.standings().iter();
        let change = standings.find_map(|(_, standing)| standing.change_before(now, &default));
        let Some(Change { before, after, at }) = change else { return };
        let before_it = tiers.named(&before).and_then(|tier| rule.limits.of(Some(tier)));
        let Some(old) = before_it else { return };
        for owing in windows.map_or(&[][..], Windows::owed) {
            let same_name = |one: &&Owing| one.limit.name() == owing.limit.name();
            let Some(before_it) = old.owed().iter().find(same_name) else { continue };
            let (Some(from), Some(recovery)) = (before_it.quota, before_it.limit.recovery()) else {
                continue;
            };
            if Some(from) == owing.quota || now >= at + recovery {
                continue;
            }
            let key = self.desk.keys.get(key.clone());
            let at = at.as_micros().to_le_bytes();
            let parts =
                [owing.limit.name().as_bytes(), key, before.as_bytes(), after.as_bytes(), &at];
            let digest = rules.digester.digest(DIGEST_OF_CHANGE, parts);
            let id = Id::from_bits(u128::from_le_bytes(digest));
            self.rescales.push(Rescale { rule: index, limit: &owing.limit, from, id });
        }
    }
}

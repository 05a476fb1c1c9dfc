//! Changes of quotas and tiers: which buckets are rescaled, from what, and for how long.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use sluicegate_oracle::trace::QuotaSpec;

use super::limit::{self, Limit, Owed};
use crate::rule_file::{Limits, Rule, RuleFile};

/// Within this time an edit reaches every node.
const SPREAD: u64 = 60_000_000;

/// Changes that requests still have to carry over.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    edits: Vec<Edit>,
    tiers: BTreeMap<String, TierChange>,
    count: u64,
}

/// A bucket whose quota takes longer to recover than before.
#[derive(Debug, Clone)]
struct Edit {
    rule: String,
    /// The tier whose limit it is; empty where there is none.
    tier: String,
    limit: String,
    from: QuotaSpec,
    until: u64,
    id: u64,
}

/// The tier that a user had before the table changed.
#[derive(Debug, Clone)]
pub(crate) struct TierChange {
    pub(crate) tier: String,
    at: u64,
    id: u64,
}

impl Changes {
    /// Compares a file with the one before it.
    pub(crate) fn learn(&mut self, before: &RuleFile, after: &RuleFile, now: u64) {
        self.edits.retain(|edit| now < edit.until);
        for rule in &after.rules {
            if let Some(old) = before.rule(&rule.name) {
                for (tier, new, old) in same_entries(rule, old) {
                    self.compare(rule, &tier, &new, &old, now);
                }
            }
        }
        if let (Some(old), Some(new)) = (&before.tiers, &after.tiers) {
            let users = old.table.keys().chain(new.table.keys());
            for user in users.cloned().collect::<std::collections::BTreeSet<_>>() {
                let had = old.table.get(&user).unwrap_or(&old.default).clone();
                let has = new.table.get(&user).unwrap_or(&new.default);
                if had != *has {
                    self.count += 1;
                    self.tiers.insert(user, TierChange { tier: had, at: now, id: self.count });
                }
            }
        }
    }

    fn compare(&mut self, rule: &Rule, tier: &str, new: &[Owed], old: &[Owed], now: u64) {
        for to in all(new) {
            let Some(from) = all(old).find(|one| one.name == to.name) else { continue };
            if from.spec == to.spec || !from.is_bucket() || !to.is_bucket() {
                continue;
            }
            let (Some(before), Some(after)) = (from.recovery_us, to.recovery_us) else { continue };
            let Some(quota) = from.quota_spec().filter(|_| before < after) else { continue };
            self.count += 1;
            self.edits.push(Edit {
                rule: rule.name.clone(),
                tier: tier.to_owned(),
                limit: to.name.clone(),
                from: quota,
                until: now + before + SPREAD,
                id: self.count,
            });
        }
    }

    /// The buckets of a rule that an edit rescales.
    pub(crate) fn edited(
        &self,
        rule: &str,
        tier: &str,
        owed: &[Owed],
        now: u64,
    ) -> Vec<(QuotaSpec, Limit, u64)> {
        let edits = self
            .edits
            .iter()
            .filter(|edit| edit.rule == rule && edit.tier == tier && now < edit.until);
        let found = edits.filter_map(|edit| {
            let limit = all(owed).find(|limit| limit.name == edit.limit)?;
            Some((edit.from, limit.clone(), edit.id))
        });
        found.collect()
    }

    /// Returns the tier of a user before the last change of the table, if it was different.
    pub(crate) fn tier_before(&self, user: Option<&str>, tier: &str) -> Option<&TierChange> {
        self.tiers.get(user?).filter(|change| change.tier != tier)
    }

    /// The buckets that a change of tier rescales.
    pub(crate) fn carried_over(
        change: &TierChange,
        old: &[Owed],
        new: &[Owed],
        now: u64,
    ) -> Vec<(QuotaSpec, Limit, u64)> {
        let mut out = Vec::new();
        for to in all(new) {
            let Some(from) = all(old).find(|one| one.name == to.name) else { continue };
            let (Some(before), Some(own)) = (from.recovery_us, to.recovery_us) else { continue };
            let same = from.quota == to.quota;
            if same || now >= change.at + before.max(own) + SPREAD {
                continue;
            }
            if let Some(quota) = from.quota_spec() {
                out.push((quota, to.clone(), change.id));
            }
        }
        out
    }
}

fn all(owed: &[Owed]) -> impl Iterator<Item = &Limit> {
    owed.iter().flat_map(|one| {
        std::iter::once(&one.limit).chain(one.beyond.as_ref().map(|(limit, _)| limit))
    })
}

/// The limits of a rule before and after, for each tier that both have.
fn same_entries(new: &Rule, old: &Rule) -> Vec<(String, Vec<Owed>, Vec<Owed>)> {
    match (&new.limits, &old.limits) {
        (Limits::Same(after), Limits::Same(before)) => {
            vec![(String::new(), limit::owed(new, after, None), limit::owed(old, before, None))]
        }
        (Limits::ByTier(after), Limits::ByTier(before)) => {
            let both = after.iter().filter_map(|(tier, windows)| {
                let own = new.fresh_tiers.then_some(tier.as_str());
                let old_own = old.fresh_tiers.then_some(tier.as_str());
                let before = limit::owed(old, before.get(tier)?, old_own);
                Some((tier.clone(), limit::owed(new, windows, own), before))
            });
            both.collect()
        }
        _ => Vec::new(),
    }
}

/// A number for a name.
pub(crate) fn digest(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

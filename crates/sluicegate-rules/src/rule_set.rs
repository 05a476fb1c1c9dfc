//! The compiled rule set: immutable, and replaced as a whole.

pub(crate) mod costs;
pub(crate) mod header_settings;
pub(crate) mod index;
pub(crate) mod limits;
pub(crate) mod policy_names;
pub(crate) mod reload;
pub(crate) mod rule;
pub(crate) mod tiers;

use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate::{Limit, Span, Time};

use crate::directory::{CallerRecord, Directory, ListKind, TimeRange};
use crate::keyed_hash::KeyedHasher;
use crate::request::address::networks::Networks;
use crate::request::identity::Identity;
#[cfg(feature = "jwt")]
use crate::request::jwt::carrier::TokenSource;
use crate::request::path::Folding;
use crate::rule_set::header_settings::HeaderSettings;
use crate::rule_set::index::Index;
use crate::rule_set::limits::LimitSet;
use crate::rule_set::reload::PreviousRules;
use crate::rule_set::rule::Rule;
use crate::rule_set::tiers::Tiers;

/// The next [generation](RuleSet::generation).
pub(crate) fn next_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The compiled rules of a file.
#[derive(Debug)]
pub struct RuleSet {
    pub(crate) identities: Vec<Identity>,
    /// For each identity, whether the file has records of callers under it.
    pub(crate) known: Vec<bool>,
    #[cfg(feature = "jwt")]
    pub(crate) tokens: Vec<TokenSource>,
    pub(crate) tiers: Option<Tiers>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) index: Index,
    /// The records of callers in the file.
    pub(crate) directory: Directory,
    pub(crate) networks: Vec<ListedNetworks>,
    pub(crate) hasher: KeyedHasher,
    /// Whether the hasher uses a configured secret.
    pub(crate) has_secret: bool,
    pub(crate) folding: Folding,
    pub(crate) headers: HeaderSettings,
    pub(crate) generation: u64,
}

/// Networks on an allow-list or a block-list.
#[derive(Debug)]
pub(crate) struct ListedNetworks {
    pub(crate) identity: usize,
    pub(crate) networks: Networks,
    pub(crate) listing: ListKind,
    pub(crate) during: TimeRange,
}

impl RuleSet {
    /// A number that is unique among the rule sets of this process, for use as a cache key.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The key for hashing the names of callers in a shared store.
    ///
    /// Derived from `secret`, or fixed if there is none. Nodes that share a store need the same
    /// key.
    pub fn store_secret(&self) -> [u8; 32] {
        self.hasher.store_key()
    }

    /// The rules, in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule of this name.
    pub fn rule(&self, name: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| &*rule.name == name)
    }

    /// The settings of the response headers.
    pub const fn headers(&self) -> &HeaderSettings {
        &self.headers
    }

    /// The names of all tiers.
    pub fn tiers(&self) -> impl Iterator<Item = &str> {
        self.tiers.iter().flat_map(|tiers| tiers.names.iter().map(|name| &**name))
    }

    /// The limit of this name in any rule or tier; the first if several share it.
    pub fn limit(&self, name: &str) -> Option<&Limit> {
        self.limit_and_rule(name).map(|(limit, _)| limit)
    }

    /// The limit of this name, and the rule it belongs to.
    pub(crate) fn limit_and_rule(&self, name: &str) -> Option<(&Limit, &Rule)> {
        let rule = name.split(['~', ':', '@', '+']).next().and_then(|rule| self.rule(rule))?;
        let cooldown = rule.cooldown.iter().map(|cooldown| &cooldown.limit);
        let limit_sets = rule.limits.each().iter().chain(rule.overriding());
        let limits = limit_sets.flat_map(LimitSet::limits);
        let limit = cooldown.chain(limits).find(|limit| limit.name() == name)?;
        Some((limit, rule))
    }

    /// Records the changes since the previous rules, so that used units carry over.
    ///
    /// Compares the limits of each rule, and the tier of each caller in the directories.
    #[must_use]
    pub fn succeeding(mut self, before: &Self, now: Time) -> Self {
        let old = PreviousRules { rules: &before.rules, tiers: before.tiers.as_ref() };
        reload::diff(&mut self.rules, self.tiers.as_ref(), &old, now);
        let (Some(tiers), Some(old_tiers)) = (&self.tiers, &before.tiers) else { return self };
        let (default, old_default) = (tiers.default_name(), old_tiers.default_name());
        // Keep changes as long as a store may remember their ids, so that the next change between
        // the same tiers gets another id.
        let retention = (0..3).fold(Span::ZERO, |sum, _| sum + self.longest_carried_over());
        let over = now.as_micros().saturating_sub(retention.as_micros());
        let over = Time::from_micros(over);
        let mut changed: Vec<(Box<[u8]>, CallerRecord)> = Vec::new();
        let mut compare = |name: &[u8], new: Option<&CallerRecord>, old: Option<&CallerRecord>| {
            let had = old.and_then(|old| Some(&old.tier_at(now)?.tier)).unwrap_or(old_default);
            let has = new.and_then(|new| Some(&new.tier_at(now)?.tier)).unwrap_or(default);
            let mut record = new.cloned().unwrap_or_default();
            let earlier = old.map(|old| old.changed.as_slice()).unwrap_or_default();
            record.changed = earlier.iter().filter(|one| one.at > over).cloned().collect();
            if had != has {
                record.note_change_in_file(had.clone(), now);
            }
            if !record.changed.is_empty() {
                changed.push((name.into(), record));
            }
        };
        self.directory.each(|name, record| {
            compare(name, Some(&**record), before.directory.get_indexed(name).as_deref());
        });
        // Callers that are no longer in the file.
        before.directory.each(|name, earlier| {
            if self.directory.get_indexed(name).is_none() {
                compare(name, None, Some(&**earlier));
            }
        });
        for (name, record) in changed {
            self.directory.put_indexed(&name, record);
        }
        // Removed callers may have been the last ones under their identity, but still have a
        // record.
        let was_known = |name: &str| {
            let mut identities = before.identities.iter().zip(&before.known);
            identities.any(|(identity, known)| *known && &*identity.name == name)
        };
        for (identity, known) in self.identities.iter().zip(&mut self.known) {
            *known |= was_known(&identity.name);
        }
        self
    }

    /// The longest time after a change of tier until all earlier usage has recovered, on any node.
    pub(crate) fn longest_carried_over(&self) -> Span {
        let by_tier = self.rules.iter().filter(|rule| rule.limits.is_by_tier());
        let limit_sets = by_tier.flat_map(|rule| rule.limits.each());
        let recoveries = limit_sets.flat_map(|limits| {
            limits.limits().map(|limit| limit.recovery().unwrap_or(Span::from_secs(31 * 86_400)))
        });
        recoveries.max().unwrap_or_default() + reload::SPREAD
    }
}

//! All rules in force, compiled: immutable, and swapped whole.

use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate::{Limit, Span, Time};

use crate::address::networks::Networks;
use crate::digest::Digester;
use crate::directory::{Directory, During, Listing, Standing};
use crate::edited::{self, Before};
use crate::headers::HeaderSettings;
use crate::identity::Identity;
use crate::index::Index;
use crate::limits::Windows;
use crate::path::Folding;
use crate::rule::Rule;
use crate::tier::Tiers;
#[cfg(feature = "jwt")]
use crate::token::Token;

/// The next [generation](RuleSet::generation).
pub(crate) fn next_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// All rules of a file, compiled.
#[derive(Debug)]
pub struct RuleSet {
    pub(crate) identities: Vec<Identity>,
    /// Which identities somebody is known by in the file.
    pub(crate) known: Vec<bool>,
    #[cfg(feature = "jwt")]
    pub(crate) tokens: Vec<Token>,
    pub(crate) tiers: Option<Tiers>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) index: Index,
    /// What the file says of single callers.
    pub(crate) directory: Directory,
    pub(crate) networks: Vec<ListedNetworks>,
    pub(crate) digester: Digester,
    /// Whether the digester goes by a secret that was configured.
    pub(crate) has_secret: bool,
    pub(crate) folding: Folding,
    pub(crate) headers: HeaderSettings,
    pub(crate) generation: u64,
}

/// Whole networks on an allow-list or a block-list.
#[derive(Debug)]
pub(crate) struct ListedNetworks {
    pub(crate) identity: usize,
    pub(crate) networks: Networks,
    pub(crate) listing: Listing,
    pub(crate) during: During,
}

impl RuleSet {
    /// A number that no other rule set of this process has: what is worked out for a rule set can be
    /// kept under it.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// What the names of callers in a shared store are to be keyed with: made of `secret`, or fixed
    /// where there is none. Nodes that share a store have to have the same.
    pub fn store_secret(&self) -> [u8; 32] {
        self.digester.store_key()
    }

    /// The rules, in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule of this name.
    pub fn rule(&self, name: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| &*rule.name == name)
    }

    /// How callers are told how they stand.
    pub const fn headers(&self) -> &HeaderSettings {
        &self.headers
    }

    /// The names of all tiers.
    pub fn tiers(&self) -> impl Iterator<Item = &str> {
        self.tiers.iter().flat_map(|tiers| tiers.names.iter().map(|name| &**name))
    }

    /// The limit of this name, whichever rule and tier it belongs to; the first of those that share it.
    pub fn limit(&self, name: &str) -> Option<&Limit> {
        self.limit_and_rule(name).map(|(limit, _)| limit)
    }

    /// The same limit, and the rule it belongs to.
    pub(crate) fn limit_and_rule(&self, name: &str) -> Option<(&Limit, &Rule)> {
        let rule = name.split(['~', ':', '@', '+']).next().and_then(|rule| self.rule(rule))?;
        let cooldown = rule.cooldown.iter().map(|cooldown| &cooldown.limit);
        let windows = rule.limits.each().iter().chain(rule.overriding());
        let owed = windows.flat_map(Windows::owed).flat_map(|owing| {
            std::iter::once(&owing.limit).chain(owing.beyond.iter().map(|beyond| &beyond.limit))
        });
        let limit = cooldown.chain(owed).find(|limit| limit.name() == name)?;
        Some((limit, rule))
    }

    /// The same rules, knowing what was before them: which limits were others, and which callers had
    /// another tier. What was used carries over in units.
    #[must_use]
    pub fn succeeding(mut self, before: &Self, now: Time) -> Self {
        let old = Before { rules: &before.rules, tiers: before.tiers.as_ref() };
        edited::learn(&mut self.rules, self.tiers.as_ref(), &old, now);
        let (Some(tiers), Some(old_tiers)) = (&self.tiers, &before.tiers) else { return self };
        let (default, old_default) = (tiers.default_name(), old_tiers.default_name());
        // As long as a store may know of a change, the next between the same tiers is another.
        let known = (0..3).fold(Span::ZERO, |sum, _| sum + self.longest_carried_over());
        let over = now.as_micros().saturating_sub(known.as_micros());
        let over = Time::from_micros(over);
        let mut changed: Vec<(Box<[u8]>, Standing)> = Vec::new();
        let mut compare = |name: &[u8], new: Option<&Standing>, old: Option<&Standing>| {
            let had = old.and_then(|old| Some(&old.tier_at(now)?.tier)).unwrap_or(old_default);
            let has = new.and_then(|new| Some(&new.tier_at(now)?.tier)).unwrap_or(default);
            let mut standing = new.cloned().unwrap_or_default();
            let earlier = old.map(|old| old.changed.as_slice()).unwrap_or_default();
            standing.changed = earlier.iter().filter(|one| one.at > over).cloned().collect();
            if had != has {
                standing.note_change_in_file(had.clone(), now);
            }
            if !standing.changed.is_empty() {
                changed.push((name.into(), standing));
            }
        };
        self.directory.each(|name, standing| {
            compare(name, Some(&**standing), before.directory.get_filed(name).as_deref());
        });
        // Those who have left the file.
        before.directory.each(|name, earlier| {
            if self.directory.get_filed(name).is_none() {
                compare(name, None, Some(&**earlier));
            }
        });
        for (name, standing) in changed {
            self.directory.put_filed(&name, standing);
        }
        // Those who have left may be the last who were known by their identity.
        let knew = |name: &str| {
            let mut identities = before.identities.iter().zip(&before.known);
            identities.any(|(identity, known)| *known && &*identity.name == name)
        };
        for (identity, known) in self.identities.iter().zip(&mut self.known) {
            *known |= knew(&identity.name);
        }
        self
    }

    /// How long after a change of tier something may be used that was used before it, on any node.
    pub(crate) fn longest_carried_over(&self) -> Span {
        let by_tier = self.rules.iter().filter(|rule| rule.limits.is_by_tier());
        let windows = by_tier.flat_map(|rule| rule.limits.each());
        let recoveries = windows.flat_map(|windows| {
            windows
                .limits()
                .map(|(limit, _)| limit.recovery().unwrap_or(Span::from_secs(31 * 86_400)))
        });
        recoveries.max().unwrap_or_default() + edited::SPREAD
    }
}

//! Walks the rules that may apply to a request.

use std::ops::Range;

use sluicegate::{Id, Limit, Quota};
use smallvec::SmallVec;

use super::choosing::Chosen;
use super::{Desk, Outcome, Purpose};
use crate::directory::Listing;
use crate::facts::Facts;
use crate::identity::{Identified, IfMissing};
use crate::keys::Keys;
use crate::limits::Windows;
use crate::rule::{Mode, Rule};
use crate::ruleset::RuleSet;

/// A rule that applies, before its keys have come to rest.
pub(super) struct Applied<'p> {
    pub(super) rule: u32,
    pub(super) key: Range<usize>,
    pub(super) cost: u64,
    pub(super) windows: Lent<'p>,
}

/// Whose limits they are.
pub(super) enum Lent<'p> {
    /// None at all.
    Nobody,
    Rules(&'p Windows),
    /// Those at this place of the desk.
    Kept(usize),
}

/// A bucket that is rescaled before it is asked.
pub(super) struct Rescale<'p> {
    pub(super) rule: u32,
    pub(super) limit: &'p Limit,
    pub(super) from: Quota,
    pub(super) id: Id,
}

pub(super) struct Planning<'p, 'd> {
    pub(super) purpose: Purpose,
    pub(super) desk: &'d mut Desk,
    pub(super) applied: SmallVec<[Applied<'p>; 16]>,
    pub(super) rescales: SmallVec<[Rescale<'p>; 1]>,
    /// An identity that has to be there, and the rule that wants it.
    pub(super) missing: Option<(&'p str, &'p str)>,
}

impl<'p> Planning<'p, '_> {
    /// Walks the rules that may apply, in the order of the file.
    pub(super) fn walk(&mut self, rules: &'p RuleSet, facts: &mut Facts<'p>) -> Outcome<'p> {
        match listing(rules, facts) {
            Some(Listing::Block) => return Outcome::Blocked,
            Some(Listing::Allow) => return Outcome::Free,
            None => {}
        }
        for index in rules.index.candidates(facts) {
            let Some(rule) = usize::try_from(index).ok().and_then(|index| rules.rules.get(index))
            else {
                continue;
            };
            if rule.matcher.check_beyond_path(facts).is_ok() {
                self.apply(index, rule, facts);
            }
            if self.missing.is_some() {
                break;
            }
        }
        Outcome::Ask
    }

    fn apply(&mut self, index: u32, rule: &'p Rule, facts: &mut Facts<'p>) {
        if matches!(self.purpose, Purpose::Failure(_) | Purpose::Success)
            && rule.cooldown.as_ref().and_then(|cooldown| cooldown.ended(self.purpose)).is_none()
        {
            return;
        }
        let key = match key_of(rule, facts, &mut self.desk.keys) {
            Keyed::At(key) => key,
            Keyed::Skip => return,
            // A shadow refuses nobody.
            Keyed::Missing(_) if rule.mode == Mode::Shadow => return,
            Keyed::Missing(identity) => {
                self.missing = Some((&facts.rules.identities[identity].name, &rule.name));
                return;
            }
        };
        let (cost, windows) = match self.purpose {
            Purpose::Take | Purpose::Charge | Purpose::Refund => {
                (rule.costs.of(facts), self.windows(index, &key, rule, facts))
            }
            Purpose::Failure(_) | Purpose::Success => {
                (facts.request.cost.unwrap_or(1), Lent::Nobody)
            }
        };
        self.applied.push(Applied { rule: index, key, cost, windows });
    }

    /// The limits that a rule has for this caller, at this time.
    fn windows(
        &mut self,
        index: u32,
        key: &Range<usize>,
        rule: &'p Rule,
        facts: &mut Facts<'p>,
    ) -> Lent<'p> {
        let (windows, tier) = match Chosen::of(rule, facts) {
            Chosen::Caller(windows) => {
                self.desk.kept.push(windows);
                return Lent::Kept(self.desk.kept.len() - 1);
            }
            Chosen::Override(windows) => return Lent::Rules(windows),
            Chosen::Own { windows, tier } => (windows, tier),
        };
        if tier.is_some() {
            self.carry_over(index, key, rule, windows, facts);
        }
        if !rule.edits.rescaled.is_empty() {
            let place = tier.map_or(0, |tier| tier.0);
            self.carry_over_edit(index, key, rule, (place, windows), facts);
        }
        windows.map_or(Lent::Nobody, Lent::Rules)
    }
}

/// What a rule's key came to.
pub(crate) enum Keyed {
    /// It lies there among the keys.
    At(Range<usize>),
    /// The rule does not apply to those who do not say who they are.
    Skip,
    /// This identity has to be there.
    Missing(usize),
}

/// Writes the key of a rule.
pub(crate) fn key_of(rule: &Rule, facts: &mut Facts<'_>, keys: &mut Keys) -> Keyed {
    let start = keys.len();
    for identity in &rule.key {
        let default = facts.rules.identities[*identity].if_missing;
        let found = facts.identity(*identity);
        if found.is_missing() {
            match rule.if_missing.unwrap_or(default) {
                IfMissing::Share => {}
                IfMissing::Skip => return Keyed::Skip,
                IfMissing::Refuse => return Keyed::Missing(*identity),
            }
        }
        found.write(keys);
    }
    Keyed::At(start..keys.len())
}

/// Whether the caller is on a list.
pub(crate) fn listing(rules: &RuleSet, facts: &mut Facts<'_>) -> Option<Listing> {
    let now = facts.now;
    let mut found = None;
    for listed in rules.networks.iter().filter(|listed| listed.during.contains(now)) {
        if let Identified::Address { address, .. } = facts.identity(listed.identity)
            && listed.networks.contains(*address)
        {
            match listed.listing {
                Listing::Block => return Some(Listing::Block),
                Listing::Allow => found = Some(Listing::Allow),
            }
        }
    }
    for (_, standing) in facts.standings() {
        match standing.listing_at(now) {
            Some(Listing::Block) => return Some(Listing::Block),
            Some(Listing::Allow) => found = Some(Listing::Allow),
            None => {}
        }
    }
    if facts.carries_blocked_value() { Some(Listing::Block) } else { found }
}

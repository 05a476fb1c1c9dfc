//! From a request to the checks it owes.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate::{Ask, Check, Cost, Id, Limit, Plan, Quota, Time};

use crate::directory::{Change, Directory, Listing};
use crate::doubts::MOST_CHECKS;
use crate::facts::Facts;
use crate::identity::{Identified, IfMissing};
use crate::keys::Keys;
use crate::limits::{Owing, Windows};
use crate::request::Request;
use crate::rule::{Mode, Rule};
use crate::ruleset::RuleSet;

/// Where a plan is written: keys, and limits that belong to nobody else.
///
/// Made for one request, or kept for the next: a plan borrows it.
#[derive(Debug, Default)]
pub struct Desk {
    keys: Keys,
    kept: SmallVec<[Arc<Windows>; 1]>,
}

/// What a request owes, and to which rules.
#[derive(Debug)]
pub struct Planned<'p> {
    rules: &'p RuleSet,
    outcome: Outcome<'p>,
    plan: Plan<'p>,
    /// The rule of each check.
    owed_to: SmallVec<[u32; 8]>,
    cost: u64,
    tier: Option<&'p str>,
}

/// Whether there is anything to ask a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'p> {
    /// The plan has to be decided; it may be empty, where no rule applies.
    Ask,
    /// The caller is on the allow-list: no rule applies.
    Free,
    /// The caller is on the block-list.
    Blocked,
    /// A rule wants to know who is asking, and the request does not say.
    Unidentified {
        /// The identity that is missing.
        identity: &'p str,
        /// The rule that wants it.
        rule: &'p str,
    },
}

/// What a plan is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To take what the request costs.
    Take,
    /// To report that the request failed, with this status where there is one: only cooldowns are
    /// charged, and behind each charge stands a look at what it came to.
    Failure(Option<u16>),
}

impl Desk {
    /// An empty desk.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<'p> Planned<'p> {
    /// The checks to decide.
    pub fn plan(&self) -> &Plan<'p> {
        &self.plan
    }

    /// Whether there is anything to ask a store.
    pub fn outcome(&self) -> Outcome<'p> {
        self.outcome
    }

    /// The rules that it was planned by.
    pub fn rules(&self) -> &'p RuleSet {
        self.rules
    }

    /// The rule that owns a check of the plan.
    pub fn rule(&self, check: usize) -> Option<&'p Rule> {
        self.rules.rules.get(usize::try_from(*self.owed_to.get(check)?).ok()?)
    }

    /// The place of that rule in the rule set.
    pub fn rule_index(&self, check: usize) -> Option<usize> {
        self.owed_to.get(check).and_then(|rule| usize::try_from(*rule).ok())
    }

    /// The most that any rule charges for the request.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// The caller's tier, where there are tiers and somebody asked.
    pub fn tier(&self) -> Option<&'p str> {
        self.tier
    }
}

/// A rule that applies, before its keys have come to rest.
struct Applied<'p> {
    rule: u32,
    key: Range<usize>,
    cost: u64,
    windows: Lent<'p>,
}

/// Whose limits they are.
enum Lent<'p> {
    /// None at all.
    Nobody,
    Rules(&'p Windows),
    /// Those at this place of the desk.
    Kept(usize),
}

/// A bucket that is rescaled before it is asked.
struct Rescale<'p> {
    rule: u32,
    limit: &'p Limit,
    from: Quota,
    id: Id,
}

impl RuleSet {
    /// The checks that a request owes at `now`.
    ///
    /// ```
    /// use tollgate_rules::{Desk, Directory, Request, RuleSet};
    ///
    /// let rules = RuleSet::parse("
    /// identify:
    ///   user: { header: x-user-id }
    /// rules:
    ///   - { name: api, key: user, limit: 100/min }
    /// ")?;
    /// let headers = [("x-user-id", "42")];
    /// let request = Request::new().method("GET").target("/").headers(&headers);
    /// let (directory, mut desk) = (Directory::new(), Desk::new());
    /// let planned = rules.plan(&directory, &request, tollgate::Time::EPOCH, &mut desk);
    /// assert_eq!(planned.plan().checks().len(), 1);
    /// # Ok::<(), tollgate_rules::Report>(())
    /// ```
    pub fn plan<'p>(
        &'p self,
        directory: &'p Directory,
        request: &Request<'p>,
        now: Time,
        desk: &'p mut Desk,
    ) -> Planned<'p> {
        self.plan_for(Purpose::Take, directory, request, now, desk)
    }

    /// The checks that a request owes at `now` for this purpose.
    pub fn plan_for<'p>(
        &'p self,
        purpose: Purpose,
        directory: &'p Directory,
        request: &Request<'p>,
        now: Time,
        desk: &'p mut Desk,
    ) -> Planned<'p> {
        desk.keys.clear();
        desk.kept.clear();
        let mut facts = Facts::of(self, directory, *request, now);
        let mut planning = Planning {
            purpose,
            desk,
            applied: SmallVec::new(),
            rescales: SmallVec::new(),
            missing: None,
        };
        let mut outcome = planning.walk(self, &mut facts);
        if let Some((identity, rule)) = planning.missing {
            outcome = Outcome::Unidentified { identity, rule };
        }
        let tier = facts.tier_if_asked().and_then(|tier| Some(self.tiers.as_ref()?.name(tier)));
        let mut planned = Planned {
            rules: self,
            outcome,
            plan: Plan::new(),
            owed_to: SmallVec::new(),
            cost: 0,
            tier,
        };
        if outcome == Outcome::Ask {
            let desk: &'p Desk = planning.desk;
            let (applied, rescales) = (&planning.applied, &planning.rescales);
            for one in applied {
                planned.owe(one, rescales, purpose, desk);
            }
            if planned.plan.checks().len() > MOST_CHECKS && !rescales.is_empty() {
                // Better a change that is not told than a request that cannot be decided.
                (planned.plan, planned.owed_to) = (Plan::new(), SmallVec::new());
                for one in applied {
                    planned.owe(one, &[], purpose, desk);
                }
            }
        }
        planned
    }
}

impl<'p> Planned<'p> {
    /// Owes what a rule that applies asks for.
    fn owe(
        &mut self,
        one: &Applied<'p>,
        rescales: &[Rescale<'p>],
        purpose: Purpose,
        desk: &'p Desk,
    ) {
        let (rules, index) = (self.rules, one.rule);
        let Some(rule) = usize::try_from(index).ok().and_then(|index| rules.rules.get(index))
        else {
            return;
        };
        let key = desk.keys.get(one.key.clone());
        let cost = Cost::new(one.cost).unwrap_or(Cost::MAX);
        self.cost = self.cost.max(cost.units());
        if let Some(cooldown) = &rule.cooldown {
            let ask = match purpose {
                Purpose::Take => Ask::peek(),
                Purpose::Failure(_) => Ask::Charge(cost),
            };
            let check = Check::new(&cooldown.limit, key);
            self.push(rule, index, check.ask(ask));
            if purpose != Purpose::Take {
                // A charge does not say whether it was one too many; a look does, in nobody's way.
                self.push(rule, index, check.ask(Ask::peek()).observed());
            }
        }
        if purpose != Purpose::Take {
            return;
        }
        for change in rescales.iter().filter(|change| change.rule == index) {
            let ask = Ask::Rescale { from: change.from, id: change.id };
            self.push(rule, index, Check::new(change.limit, key).ask(ask));
        }
        let windows = match one.windows {
            Lent::Nobody => return,
            Lent::Rules(windows) => windows,
            Lent::Kept(place) => match desk.kept.get(place) {
                Some(windows) => windows,
                None => return,
            },
        };
        for owing in windows.owed() {
            // A request is one in flight, whatever it costs.
            let cost = if owing.limit.holds() { cost.min(Cost::ONE) } else { cost };
            let check = Check::new(&owing.limit, key);
            // What nearly every request costs is what a check asks for by itself.
            let check = if cost == Cost::ONE { check } else { check.cost(cost) };
            self.push(rule, index, check);
            if let Some(beyond) = &owing.beyond {
                let check = Check::new(&beyond.limit, key).cost(cost).delayed(beyond.delay);
                self.push(rule, index, check.or_else());
            }
        }
    }

    fn push(&mut self, rule: &Rule, index: u32, check: Check<'p>) {
        let check = if rule.mode == Mode::Shadow { check.observed() } else { check };
        self.plan.require(check);
        self.owed_to.push(index);
    }
}

struct Planning<'p, 'd> {
    purpose: Purpose,
    desk: &'d mut Desk,
    applied: SmallVec<[Applied<'p>; 16]>,
    rescales: SmallVec<[Rescale<'p>; 1]>,
    /// An identity that has to be there, and the rule that wants it.
    missing: Option<(&'p str, &'p str)>,
}

impl<'p> Planning<'p, '_> {
    /// Walks the rules that may apply, in the order of the file.
    fn walk(&mut self, rules: &'p RuleSet, facts: &mut Facts<'p>) -> Outcome<'p> {
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
        if let Purpose::Failure(status) = self.purpose
            && !rule.cooldown.as_ref().is_some_and(|cooldown| cooldown.counts(status))
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
            Purpose::Take => (rule.costs.of(facts), self.windows(index, &key, rule, facts)),
            Purpose::Failure(_) => (facts.request.cost.unwrap_or(1), Lent::Nobody),
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
        let now = facts.now;
        let mut standings = facts.standings().iter();
        let own =
            standings.find_map(|(_, standing)| standing.override_at(&rule.name, now).cloned());
        if let Some(windows) = own {
            self.desk.kept.push(windows);
            return Lent::Kept(self.desk.kept.len() - 1);
        }
        let for_all = rule.overrides.iter().rev().find(|(during, _)| during.contains(now));
        if let Some((_, windows)) = for_all {
            return Lent::Rules(windows);
        }
        let tier = if rule.limits.is_by_tier() { facts.tier() } else { None };
        let windows = rule.limits.of(tier);
        if tier.is_some() {
            self.carry_over(index, key, rule, windows, facts);
        }
        if !rule.edits.rescaled.is_empty() {
            let place = tier.map_or(0, |tier| tier.0);
            self.carry_over_edit(index, key, rule, (place, windows), facts);
        }
        windows.map_or(Lent::Nobody, Lent::Rules)
    }

    /// After an edit of the rule too, unless the caller's tier changed as well.
    fn carry_over_edit(
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
    fn carry_over(
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

/// What a digest is of; see [`crate::identity`].
const DIGEST_OF_CHANGE: u8 = 4;

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
    found
}

//! From a request to the checks it owes.

mod carrying;
mod choosing;
mod owing;
mod walking;

use std::sync::Arc;

use sluicegate::{Ask, Check, Plan, Quota, Span, Time};
use smallvec::SmallVec;

pub(crate) use self::choosing::Chosen;
pub(crate) use self::walking::{Keyed, key_of, listing};

use self::walking::Planning;
use crate::directory::Directory;
use crate::doubts::MOST_CHECKS;
use crate::facts::Facts;
use crate::keys::Keys;
use crate::limits::Windows;
use crate::request::Request;
use crate::rule::Rule;
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
    /// Whether a rule applies that limits nothing.
    unlimited: bool,
}

/// In the place of a rule: a limit that came with a request.
const NOBODY: u32 = u32::MAX;

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
    /// To report that the request failed, or how it ended where there is a status: only cooldowns are
    /// charged, and behind each charge stands a look at what it came to.
    Failure(Option<u16>),
    /// To report that the request succeeded: only cooldowns that count successes are asked.
    Success,
    /// To charge what a request turned out to cost, whatever is left: it has happened already.
    Charge,
    /// To give back units that were taken, without saying by which request: as far as the limit has
    /// any that were.
    Refund,
}

impl Desk {
    /// An empty desk.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<'p> Planned<'p> {
    /// What a limit asks for that came with a request; no rule is in it.
    pub(crate) fn of(rules: &'p RuleSet, check: Check<'p>) -> Self {
        let mut plan = Plan::new();
        plan.require(check);
        let cost = match check.asks() {
            Ask::Take(take) => take.most(),
            _ => 0,
        };
        let owed_to = SmallVec::new();
        Self { rules, outcome: Outcome::Ask, plan, owed_to, cost, tier: None, unlimited: false }
    }

    /// What several requests owe together. Where one of them is refused at once, so are all.
    pub(crate) fn together(
        rules: &'p RuleSet,
        parts: impl IntoIterator<Item = &'p Self> + Clone,
    ) -> Self {
        let mut whole = Self {
            rules,
            outcome: Outcome::Ask,
            plan: Plan::new(),
            owed_to: SmallVec::new(),
            cost: 0,
            tier: None,
            unlimited: false,
        };
        for part in parts {
            for (index, check) in part.plan.checks().iter().enumerate() {
                whole.plan.require(*check);
                whole.owed_to.push(part.owed_to.get(index).copied().unwrap_or(NOBODY));
            }
            whole.cost = whole.cost.max(part.cost);
            whole.tier = whole.tier.or(part.tier);
            if part.is_refused() && !whole.is_refused() {
                whole.outcome = part.outcome;
            }
        }
        whole
    }

    /// Says after how long nobody waits for the answer any more.
    pub(crate) fn answered_within(&mut self, within: Option<Span>) {
        self.plan.answered_within(within);
    }

    /// Whether it is refused without asking anybody.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.outcome, Outcome::Blocked | Outcome::Unidentified { .. })
    }

    /// Whether a rule applies that limits nothing, or the caller is on the allow-list.
    pub fn is_unlimited(&self) -> bool {
        self.unlimited
    }

    /// The quota that the limit of a check was made of, where a rule says so.
    pub fn quota(&self, check: usize) -> Option<Quota> {
        let limit = self.plan.checks().get(check)?.limit();
        let rule = self.rule(check)?;
        let windows = rule.limits.each().iter().chain(rule.overriding());
        let mut limits = windows.flat_map(Windows::limits);
        limits.find(|(own, _)| std::ptr::eq(*own, limit)).and_then(|(_, quota)| quota)
    }

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

impl RuleSet {
    /// The checks that a request owes at `now`.
    ///
    /// ```
    /// use sluicegate_rules::{Desk, Directory, Request, RuleSet};
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
    /// let planned = rules.plan(&directory, &request, sluicegate::Time::EPOCH, &mut desk);
    /// assert_eq!(planned.plan().checks().len(), 1);
    /// # Ok::<(), sluicegate_rules::Report>(())
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
            unlimited: outcome == Outcome::Free,
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

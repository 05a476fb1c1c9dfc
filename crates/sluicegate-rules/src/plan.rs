//! Plans: the checks that a request requires under the rules.

mod carry_over;
mod collect;
mod emit_checks;
pub(crate) mod key_buffer;
mod select_limits;

use std::sync::Arc;

use sluicegate::{Check, Operation, Plan, Span, Time};
use smallvec::SmallVec;

pub(crate) use self::collect::{KeyOutcome, key_of, listing};
pub(crate) use self::select_limits::SelectedLimits;

use self::collect::Collector;
use crate::directory::Directory;
use crate::file::lint::MOST_CHECKS;
use crate::plan::key_buffer::KeyBuffer;
use crate::request::Request;
use crate::request::context::RequestContext;
use crate::rule_set::RuleSet;
use crate::rule_set::limits::LimitSet;
use crate::rule_set::rule::Rule;

/// Storage for the keys and caller-specific limits of a plan, which borrows them.
///
/// Can be reused for the next request.
#[derive(Debug, Default)]
pub struct PlanBuffer {
    keys: KeyBuffer,
    limit_sets: SmallVec<[Arc<LimitSet>; 1]>,
}

/// The checks of a request, and the rules they belong to.
#[derive(Debug)]
pub struct RequestPlan<'p> {
    rules: &'p RuleSet,
    outcome: PlanOutcome<'p>,
    plan: Plan<'p>,
    /// The index of the rule of each check, or [`NO_RULE`].
    rule_indexes: SmallVec<[u32; 8]>,
    cost: u64,
    tier: Option<&'p str>,
    /// Whether an unlimited rule applies.
    unlimited: bool,
}

/// The rule index of a check that belongs to no rule, because the request brought its limit along.
const NO_RULE: u32 = u32::MAX;

/// Whether the plan has to be decided by a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanOutcome<'p> {
    /// The plan has to be decided; it is empty if no rule applies.
    Check,
    /// The caller is on the allow-list: no rule applies.
    Free,
    /// The caller is on the block-list.
    Blocked,
    /// A rule requires an identity that the request does not have.
    Unidentified {
        /// The identity that is missing.
        identity: &'p str,
        /// The rule that requires it.
        rule: &'p str,
    },
}

impl PlanBuffer {
    /// Creates an empty buffer.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<'p> RequestPlan<'p> {
    /// The plan of a check that the request brought along; it belongs to no rule.
    pub(crate) fn of(rules: &'p RuleSet, check: Check<'p>) -> Self {
        let mut plan = Plan::new();
        plan.require(check);
        let cost = match check.operation() {
            Operation::Take(take) => take.most(),
            _ => 0,
        };
        let rule_indexes = SmallVec::new();
        Self {
            rules,
            outcome: PlanOutcome::Check,
            plan,
            rule_indexes,
            cost,
            tier: None,
            unlimited: false,
        }
    }

    /// The combined plan of several requests, and the places of each of their checks in it.
    ///
    /// Refused if one of them is refused without a check. The checks of a shadow rule are one set,
    /// as those of all enforced rules are.
    pub(crate) fn together(rules: &'p RuleSet, parts: &[&'p Self]) -> (Self, Vec<Vec<usize>>) {
        let mut whole = Self {
            rules,
            outcome: PlanOutcome::Check,
            plan: Plan::new(),
            rule_indexes: SmallVec::new(),
            cost: 0,
            tier: None,
            unlimited: false,
        };
        let mut places: Vec<Vec<usize>> = Vec::with_capacity(parts.len());
        for part in parts {
            let required = part.plan.required();
            let first = whole.rule_indexes.len();
            for (index, check) in required.iter().enumerate() {
                whole.plan.require(*check);
                whole.rule_indexes.push(part.rule_index_at(index));
            }
            places.push((first..whole.rule_indexes.len()).collect());
            whole.cost = whole.cost.max(part.cost);
            whole.tier = whole.tier.or(part.tier);
            if part.is_refused() && !whole.is_refused() {
                whole.outcome = part.outcome;
            }
        }
        whole.observe_together(parts, &mut places);
        (whole, places)
    }

    /// Adds the shadows of these plans, one for each rule.
    fn observe_together(&mut self, parts: &[&'p Self], places: &mut [Vec<usize>]) {
        let mut rules: Vec<u32> = Vec::new();
        for part in parts {
            for rule in part.rule_indexes.iter().skip(part.plan.required().len()) {
                if !rules.contains(rule) {
                    rules.push(*rule);
                }
            }
        }
        for rule in rules {
            let mut checks: Vec<Check<'p>> = Vec::new();
            for (part, own) in parts.iter().zip(&mut *places) {
                own.resize(part.plan.checks().len(), 0);
                let shadows = part.plan.checks().iter().enumerate();
                let shadows = shadows.skip(part.plan.required().len());
                for (index, check) in shadows.filter(|(at, _)| part.rule_indexes[*at] == rule) {
                    own[index] = self.rule_indexes.len();
                    self.rule_indexes.push(rule);
                    checks.push(*check);
                }
            }
            self.plan.observe(checks);
        }
    }

    fn rule_index_at(&self, check: usize) -> u32 {
        self.rule_indexes.get(check).copied().unwrap_or(NO_RULE)
    }

    /// Sets the time after which the client no longer waits for the answer.
    pub(crate) fn answered_within(&mut self, within: Option<Span>) {
        self.plan.answered_within(within);
    }

    /// Whether it is refused without a call to the store.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.outcome, PlanOutcome::Blocked | PlanOutcome::Unidentified { .. })
    }

    /// Whether an unlimited rule applies, or the caller is on the allow-list.
    pub fn is_unlimited(&self) -> bool {
        self.unlimited
    }

    /// The checks to decide.
    pub fn plan(&self) -> &Plan<'p> {
        &self.plan
    }

    /// Whether the plan has to be decided by a store.
    pub fn outcome(&self) -> PlanOutcome<'p> {
        self.outcome
    }

    /// The rules that the plan was made with.
    pub fn rules(&self) -> &'p RuleSet {
        self.rules
    }

    /// The rule that owns a check of the plan.
    pub fn rule(&self, check: usize) -> Option<&'p Rule> {
        self.rules.rules.get(usize::try_from(*self.rule_indexes.get(check)?).ok()?)
    }

    /// The index of that rule in the rule set.
    pub fn rule_index(&self, check: usize) -> Option<usize> {
        self.rule_indexes.get(check).and_then(|rule| usize::try_from(*rule).ok())
    }

    /// The most that any rule charges for the request.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// The tier of the caller; `None` if the rules have no tiers.
    pub fn tier(&self) -> Option<&'p str> {
        self.tier
    }
}

impl RuleSet {
    /// Plans the checks of a request at `now`, for its [purpose](Request::purpose).
    ///
    /// ```
    /// use sluicegate_rules::{PlanBuffer, Directory, Request, RuleSet};
    ///
    /// let rules = RuleSet::parse("
    /// identify:
    ///   user: { header: x-user-id }
    /// rules:
    ///   - { name: api, key: user, limit: 100/min }
    /// ")?;
    /// let headers = [("x-user-id", "42")];
    /// let request = Request::new().method("GET").target("/").headers(&headers);
    /// let (directory, mut buffer) = (Directory::new(), PlanBuffer::new());
    /// let planned = rules.plan(&directory, &request, sluicegate::Time::EPOCH, &mut buffer);
    /// assert_eq!(planned.plan().checks().len(), 1);
    /// # Ok::<(), sluicegate_rules::Report>(())
    /// ```
    pub fn plan<'p>(
        &'p self,
        directory: &'p Directory,
        request: &Request<'p>,
        now: Time,
        buffer: &'p mut PlanBuffer,
    ) -> RequestPlan<'p> {
        buffer.keys.clear();
        buffer.limit_sets.clear();
        let purpose = request.purpose;
        let mut context = RequestContext::of(self, directory, *request, now);
        let mut planning = Collector {
            purpose,
            buffer,
            applied: SmallVec::new(),
            rescales: SmallVec::new(),
            missing: None,
        };
        let mut outcome = planning.walk(self, &mut context);
        if let Some((identity, rule)) = planning.missing {
            outcome = PlanOutcome::Unidentified { identity, rule };
        }
        let tier = context.tier().and_then(|tier| Some(self.tiers.as_ref()?.name(tier)));
        let mut planned = RequestPlan {
            rules: self,
            outcome,
            plan: Plan::new(),
            rule_indexes: SmallVec::new(),
            cost: 0,
            tier,
            unlimited: outcome == PlanOutcome::Free,
        };
        if outcome == PlanOutcome::Check {
            let buffer: &'p PlanBuffer = planning.buffer;
            let (applied, rescales) = (&planning.applied, &planning.rescales);
            planned.emit_all(applied, rescales, purpose, buffer);
            if planned.plan.checks().len() > MOST_CHECKS && !rescales.is_empty() {
                // Skip the rescales: a missed rescale is better than a request that cannot be
                // decided.
                (planned.plan, planned.rule_indexes) = (Plan::new(), SmallVec::new());
                planned.emit_all(applied, &[], purpose, buffer);
            }
        }
        planned
    }
}

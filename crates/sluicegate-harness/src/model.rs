//! The model of the program, in exact fractions.
//!
//! Limits are decided by the oracle, which shares no code with the decision core. Everything
//! around them (which rules apply, which limits, which counter, at what cost, which decision is
//! the strictest) is derived here from the rule file as data, and shares no code with the program
//! either.

// Long because it holds the state of the model and every request that changes it.

mod changes;
mod counts;
mod envelope;
mod evaluation;
mod lifetimes;
mod limit;
mod plan;
mod shares;

use std::collections::{BTreeMap, HashMap};

use sluicegate_oracle::Oracle;
use sluicegate_oracle::trace::{AskSpec, CheckSpec, ExpectedDecision, Step};

use self::changes::Changes;
pub(crate) use self::counts::Counts;
use self::envelope::Envelopes;
pub(crate) use self::evaluation::{
    Evaluation, Outcome, Planned, Verdict, reason_word, smaller_share,
};
pub(crate) use self::lifetimes::Lifetimes;
pub(crate) use self::limit::{Limit, span};
use self::plan::{Aim, Circumstances, Plan};
use self::shares::PendingCharges;
use crate::case::{Ended, Purpose, Request, StoreKind, Throttle, Via};
use crate::rule_file::{Algorithm, Cost, Quota, RuleFile};

/// The expected behaviour of all nodes and their store.
pub(crate) struct Model {
    /// Whether nodes share a store.
    shared: bool,
    oracle: Oracle,
    file: RuleFile,
    changes: Changes,
    now: u64,
    /// The slots and reservations that steps received, by the id of the step.
    slots: HashMap<u32, Vec<Charge>>,
    reservations: HashMap<u32, Vec<Charge>>,
    counts: Vec<Counts>,
    envelopes: Envelopes,
    pending: PendingCharges,
    lifetimes: Lifetimes,
    /// Nodes that have ended.
    stopped: u64,
}

/// A charge that can be settled.
#[derive(Debug, Clone)]
struct Charge {
    check: Planned,
    step: usize,
    place: usize,
    units: u64,
    /// The tier of the caller at that time.
    tier: Option<String>,
}

/// The answer to a settlement, a release or a renewal.
#[derive(Debug, Clone)]
pub(crate) struct Settlement {
    /// Each charge with its units; without a decision where another node counts it.
    pub(crate) limits: Vec<(Planned, u64, Option<ExpectedDecision>)>,
}

impl Model {
    pub(crate) fn new(file: RuleFile, store: StoreKind, nodes: usize, now: u64) -> Self {
        let mut lifetimes = Lifetimes::default();
        lifetimes.learn_file(&file);
        Self {
            shared: store != StoreKind::Memory,
            oracle: Oracle::new(&BTreeMap::new()),
            file,
            changes: Changes::default(),
            now,
            slots: HashMap::new(),
            reservations: HashMap::new(),
            counts: vec![Counts::default(); nodes],
            envelopes: Envelopes::default(),
            pending: PendingCharges::default(),
            lifetimes,
            stopped: 0,
        }
    }

    pub(crate) fn file(&self) -> &RuleFile {
        &self.file
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn set_now(&mut self, now: u64) {
        self.now = now;
    }

    pub(crate) fn lifetimes(&self) -> Lifetimes {
        self.lifetimes
    }

    pub(crate) fn counts(&self, node: usize) -> &Counts {
        &self.counts[node]
    }

    /// Replaces the rule file.
    pub(crate) fn edit(&mut self, file: RuleFile) {
        self.changes.learn(&self.file, &file, self.now);
        self.lifetimes.learn_file(&file);
        self.file = file;
    }

    /// One node less shares the limits.
    pub(crate) fn stop_node(&mut self) {
        self.stopped += 1;
    }

    /// Clears all counters, as a store that lost its data.
    pub(crate) fn forget_shared(&mut self) {
        self.oracle.forget_cells(|_, key| !key.starts_with("node "));
        self.envelopes = Envelopes::default();
    }

    /// Decides a request.
    pub(crate) fn check(
        &mut self,
        step: u32,
        node: usize,
        via: Via,
        request: &Request,
    ) -> Evaluation {
        let evaluation = self.evaluate(node, via, request, Aim::Take);
        self.remember(step, request, &evaluation);
        self.counts[node].add(&evaluation, &self.file);
        evaluation
    }

    /// Decides descriptors in one step: the whole, and each by itself.
    pub(crate) fn group(
        &mut self,
        node: usize,
        items: &[(Request, Purpose)],
    ) -> (Evaluation, Vec<Evaluation>) {
        let plans: Vec<Plan> = items
            .iter()
            .map(|(request, purpose)| {
                plan::plan(self.about(node, Via::Grpc), request, Aim::from(*purpose))
            })
            .collect();
        let refused = plans.iter().find(|plan| is_refused(&plan.outcome));
        // The place of each check in its descriptor: enforced ones first, then shadows by rule.
        let mut places: Vec<(usize, usize)> = (0..plans.len())
            .flat_map(|part| (0..plans[part].checks.len()).map(move |place| (part, place)))
            .collect();
        let check = |(part, place): (usize, usize)| &plans[part].checks[place];
        let mut shadows: Vec<Option<usize>> = Vec::new();
        for at in places.iter().filter(|at| check(**at).shadow) {
            if !shadows.contains(&check(*at).rule) {
                shadows.push(check(*at).rule);
            }
        }
        places.sort_by_key(|at| {
            let own = check(*at);
            own.shadow.then(|| shadows.iter().position(|rule| *rule == own.rule))
        });
        let mut whole = Plan {
            outcome: refused.map_or(Outcome::Asked, |plan| plan.outcome.clone()),
            checks: places.iter().map(|at| check(*at).clone()).collect(),
            cost: plans.iter().map(|plan| plan.cost).max().unwrap_or(0),
            tier: plans.iter().find_map(|plan| plan.tier.clone()),
            unlimited: false,
            independent: false,
        };
        if let [only] = plans.as_slice() {
            whole.outcome = only.outcome.clone();
            whole.unlimited = only.unlimited;
        }
        let whole = self.decide(node, whole);
        let mut parts = Vec::new();
        for (part, plan) in plans.into_iter().enumerate() {
            let asked = plan.outcome == Outcome::Asked && !plan.checks.is_empty();
            let verdict = whole.verdict.as_ref().filter(|_| asked).map(|verdict| {
                let mut own = vec![None; plan.checks.len()];
                for ((_, place), made) in
                    places.iter().zip(&verdict.decisions).filter(|(at, _)| at.0 == part)
                {
                    own[*place] = *made;
                }
                let refused = Verdict::new(&plan.checks, own.clone(), false);
                let stands = verdict.allowed || refused.strictest.is_none();
                Verdict::new(&plan.checks, own, stands)
            });
            let part = Evaluation {
                outcome: plan.outcome,
                checks: plan.checks,
                verdict,
                cost: plan.cost,
                tier: plan.tier,
                unlimited: plan.unlimited,
                now: self.now,
                by: None,
            };
            self.counts[node].add(&part, &self.file);
            parts.push(part);
        }
        (whole, parts)
    }

    /// Decides a quota that comes with its request.
    pub(crate) fn throttle(&mut self, node: usize, throttle: &Throttle, resp: bool) -> Evaluation {
        let units = throttle.cost.unsigned_abs();
        let ask = if throttle.cost < 0 {
            AskSpec::Refund { units }
        } else {
            AskSpec::Take { least: units, most: units, patience_us: None }
        };
        let limit = limit::of_throttle(throttle.quota, throttle.algorithm);
        self.lifetimes.learn(&limit);
        let check = Planned::without_rule(limit, format!("throttle {}", throttle.key), ask);
        let plan = Plan {
            outcome: Outcome::Asked,
            checks: vec![check],
            cost: units,
            tier: None,
            unlimited: false,
            independent: false,
        };
        let evaluation = self.decide(node, plan);
        self.counts[node].add_throttle(&evaluation, throttle, resp);
        evaluation
    }

    /// Reports the end of a request.
    pub(crate) fn report(&mut self, node: usize, request: &Request, ended: Ended) -> Evaluation {
        self.evaluate(node, Via::Http, request, Aim::Report(ended))
    }

    /// Settles the reservation of a step; nothing if it has none.
    pub(crate) fn settle(&mut self, node: usize, of: u32, cost: u64) -> Option<Settlement> {
        let charges = self.reservations.get(&of)?.clone();
        let owed = |charge: &Charge| {
            let rule = charge.check.rule.and_then(|rule| self.file.rules.get(rule));
            match rule.map(|rule| rule.cost) {
                _ if cost == 0 => 0,
                _ if charge.check.priced => charge.units,
                Some(Cost::CallerUpTo(max)) => cost.min(max.max(1)),
                _ => cost,
            }
        };
        let actual: Vec<u64> = charges.iter().map(owed).collect();
        Some(self.settlement(node, charges, |place, charge| AskSpec::Settle {
            step: charge.step,
            check: charge.place,
            actual: actual[place],
        }))
    }

    pub(crate) fn release(&mut self, node: usize, of: u32) -> Option<Settlement> {
        let charges = self.slots.get(&of)?.clone();
        Some(self.settlement(node, charges, |_, charge| AskSpec::Settle {
            step: charge.step,
            check: charge.place,
            actual: 0,
        }))
    }

    pub(crate) fn renew(&mut self, node: usize, of: u32) -> Option<Settlement> {
        let charges = self.slots.get(&of)?.clone();
        Some(self.settlement(node, charges, |_, charge| AskSpec::Renew {
            step: charge.step,
            check: charge.place,
        }))
    }

    pub(crate) fn has_slot(&self, of: u32) -> bool {
        self.slots.contains_key(&of)
    }

    pub(crate) fn has_reservation(&self, of: u32) -> bool {
        self.reservations.contains_key(&of)
    }

    /// Returns the first counter that admitted more than its envelope, as text.
    pub(crate) fn broken_envelope(&self) -> Option<String> {
        self.envelopes.broken()
    }

    fn settlement(
        &mut self,
        node: usize,
        charges: Vec<Charge>,
        ask: impl Fn(usize, &Charge) -> AskSpec,
    ) -> Settlement {
        let asked: Vec<Option<Planned>> = charges
            .iter()
            .enumerate()
            .map(|(place, charge)| {
                let is_here = charge.check.node.is_none_or(|own| own == node);
                let limit = self.limit_now(charge).filter(|_| is_here)?;
                let ask = ask(place, charge);
                Some(Planned { limit, ask, alternative: false, ..charge.check.clone() })
            })
            .collect();
        let checks: Vec<Planned> = asked.iter().flatten().cloned().collect();
        self.replay(node, &checks);
        let mut decisions = self.ask(&checks, true).1.into_iter();
        let limits = charges.into_iter().zip(asked).map(|(charge, asked)| match asked {
            Some(check) => (check, charge.units, decisions.next().flatten()),
            None => (charge.check, charge.units, None),
        });
        Settlement { limits: limits.collect() }
    }

    /// Finds the limit of a charge in the current file.
    ///
    /// It is the one with the same parameters, or the first of its name; the caller's tier comes
    /// before others.
    fn limit_now(&self, charge: &Charge) -> Option<Limit> {
        let rule = &charge.check.rule.and_then(|place| self.file.rules.get(place))?;
        let before = &charge.check.limit;
        let figures = |limit: &Limit| (limit.capacity, limit.lease_us().or(limit.recovery_us));
        let same = |limit: &Limit| limit.name == before.name && limit.algorithm == before.algorithm;
        let named: Vec<Limit> = limit::all_of(&self.file, rule, charge.tier.as_deref())
            .into_iter()
            .filter(same)
            .collect();
        let exact = named.iter().find(|limit| figures(limit) == figures(before));
        exact.or(named.first()).cloned()
    }

    fn about(&self, node: usize, via: Via) -> Circumstances<'_> {
        Circumstances { file: &self.file, changes: &self.changes, now: self.now, node, via }
    }

    fn evaluate(&mut self, node: usize, via: Via, request: &Request, aim: Aim) -> Evaluation {
        let plan = plan::plan(self.about(node, via), request, aim);
        self.decide(node, plan)
    }

    fn decide(&mut self, node: usize, plan: Plan) -> Evaluation {
        let Plan { outcome, checks, cost, tier, unlimited, independent } = plan;
        let verdict = (outcome == Outcome::Asked && !checks.is_empty()).then(|| {
            if independent {
                self.replay(node, &checks);
                let (admitted, decisions) = self.ask(&checks, true);
                return Verdict::new(&checks, decisions, admitted);
            }
            self.decide_sets(&checks, |model, set| {
                model.refused_by_node(set).map_or_else(
                    || {
                        model.replay(node, set);
                        model.ask(set, false)
                    },
                    |decisions| (false, decisions),
                )
            })
        });
        if let Some(verdict) = &verdict {
            self.envelopes.add(&checks, verdict, self.now);
        }
        Evaluation { outcome, checks, verdict, cost, tier, unlimited, now: self.now, by: None }
    }

    /// Decides the set of the enforced checks, and the set of each shadow rule.
    fn decide_sets(
        &mut self,
        checks: &[Planned],
        mut decide: impl FnMut(&mut Self, &[Planned]) -> (bool, Vec<Option<ExpectedDecision>>),
    ) -> Verdict {
        let (mut decisions, mut admitted, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for set in checks.chunk_by(|one, other| {
            one.shadow == other.shadow && (!one.shadow || one.rule == other.rule)
        }) {
            let (set_admitted, made) = decide(self, set);
            let step = self.oracle.steps().wrapping_sub(1);
            steps.extend((0..set.len()).map(|place| (step, place)));
            admitted.extend(set.iter().map(|_| set_admitted));
            decisions.extend(made);
        }
        let allowed =
            checks.iter().zip(&admitted).all(|(check, admitted)| check.shadow || *admitted);
        let verdict = Verdict::new(checks, decisions, allowed);
        let verdict = Verdict { admitted, steps, ..verdict };
        if !allowed {
            self.release_shadow_slots(checks, &verdict);
        }
        verdict
    }

    /// Releases the slots that shadow rules took for a refused request.
    fn release_shadow_slots(&mut self, checks: &[Planned], verdict: &Verdict) {
        let mut releases = Vec::new();
        for (place, (check, made)) in checks.iter().zip(&verdict.decisions).enumerate() {
            if check.shadow && check.limit.holds() && made.is_some_and(|made| made.receipt) {
                let (step, place) = verdict.steps[place];
                let ask = AskSpec::Settle { step, check: place, actual: 0 };
                releases.push(Planned { ask, alternative: false, ..check.clone() });
            }
        }
        self.ask(&releases, true);
    }

    /// Returns the decisions on a set that is refused by limits of one node alone.
    ///
    /// The shared limits are not evaluated then. A queue of the node is evaluated last instead.
    fn refused_by_node(&mut self, checks: &[Planned]) -> Option<Vec<Option<ExpectedDecision>>> {
        let is_take = |check: &Planned| matches!(check.ask, AskSpec::Take { .. });
        let own: Vec<usize> =
            (0..checks.len()).filter(|place| checks[*place].node.is_some()).collect();
        let queue = own.iter().any(|place| checks[*place].limit.algorithm == "queue");
        if !self.shared || own.is_empty() || own.len() == checks.len() || queue {
            return None;
        }
        if !checks.iter().any(is_take) {
            return None;
        }
        // A refused set changes nothing, and reports the usage of each of its checks.
        let mut asked: Vec<Planned> = own.iter().map(|place| checks[*place].clone()).collect();
        asked.push(never());
        let (_, mut made) = self.ask(&asked, false);
        made.pop();
        asked.pop();
        Verdict::new(&asked, made.clone(), false).blocker(&asked)?;
        let mut decisions = vec![None; checks.len()];
        for (place, made) in own.into_iter().zip(made) {
            decisions[place] = made;
        }
        Some(decisions)
    }

    /// Calls the oracle; returns whether the set was admitted, and every decision.
    fn ask(
        &mut self,
        checks: &[Planned],
        independent: bool,
    ) -> (bool, Vec<Option<ExpectedDecision>>) {
        if checks.is_empty() {
            return (true, Vec::new());
        }
        let specs = checks.iter().map(|check| {
            let handle = check.limit.handle();
            self.oracle.define(&handle, &check.limit.to_oracle());
            CheckSpec {
                limit: handle,
                key: check.key.clone(),
                ask: check.ask,
                or: check.alternative,
                period: check.limit.period(self.now),
            }
        });
        let specs: Vec<CheckSpec> = specs.collect();
        let step = Step { at: self.now, independent, checks: specs, expect: None };
        let expected = self.oracle.step(&step);
        (expected.admitted, expected.decisions)
    }

    /// Stores the slots and reservations that a request received.
    fn remember(&mut self, step: u32, request: &Request, evaluation: &Evaluation) {
        let Some(verdict) = &evaluation.verdict else { return };
        let (mut held, mut charged) = (Vec::new(), Vec::new());
        for (place, check) in evaluation.receipts() {
            let units = verdict.decisions[place].map_or(0, |made| made.granted);
            let ((step, place), tier) = (verdict.steps[place], evaluation.tier.clone());
            let charge = Charge { check: check.clone(), step, place, units, tier };
            if check.limit.holds() {
                held.push(charge);
            } else if !check.limit.is_cooldown() {
                charged.push(charge);
            }
        }
        if !held.is_empty() {
            self.slots.insert(step, held);
        }
        if request.reserve && !charged.is_empty() {
            self.reservations.insert(step, charged);
        }
    }
}

/// A check that refuses its set.
fn never() -> Planned {
    let quota = Quota { amount: 1, period_us: 1_000_000, burst: None };
    let limit = limit::of_throttle(quota, Algorithm::TokenBucket);
    let ask = AskSpec::Take { least: 2, most: 2, patience_us: None };
    Planned::without_rule(limit, "never".to_owned(), ask)
}

fn is_refused(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Blocked | Outcome::Unidentified { .. })
}

//! Decisions of a node without its shared store: shares of limits, and charges to replay.

use std::collections::HashMap;

use sluicegate_oracle::oracle::CellAt;
use sluicegate_oracle::trace::{AlgorithmSpec, AskSpec, BucketSpec, ExpectedDecision, Reason};

use super::Model;
use super::evaluation::{Evaluation, Outcome, Planned, Verdict};
use super::limit::Limit;
use super::plan::{self, Aim, Plan};
use crate::case::{Request, Via};
use crate::rule_file::OnStoreError;

/// The parts in which a node stores how much of a limit was used.
const PARTS: u64 = 65_535;

/// A counter on a node: the node, the name of the limit, the key.
type Counter = (usize, String, String);

/// Charges that nodes admitted by themselves, and that the store has yet to receive.
#[derive(Debug, Default)]
pub(super) struct PendingCharges(HashMap<Counter, Pending>);

#[derive(Debug)]
struct Pending {
    units: u64,
    /// When all of them have recovered.
    until: u64,
}

/// How a check is decided without the store.
enum Fallback {
    Policy(bool),
    Share,
    /// It counts on this node in any case.
    Own,
}

impl Model {
    /// Whether the model predicts this request during an outage.
    ///
    /// It does not predict slots that a share has granted, nor changes of quota.
    pub(crate) fn predicts_outage(&self, node: usize, request: &Request) -> bool {
        let plan = plan::plan(self.about(node, Via::Http), request, Aim::Take);
        plan.checks.iter().all(|check| {
            let share_of_slots =
                matches!(self.fallback(check), Fallback::Share) && check.limit.holds();
            !check.is_rescale() && !share_of_slots
        })
    }

    /// Decides a request that reaches the deadline at `at`, because the shared store is down.
    ///
    /// The node has looked at the same counters before; `refused` is whether that was refused.
    /// Limits of the node that were charged before the call are rolled back: nothing of it remains.
    pub(crate) fn check_without_store(
        &mut self,
        node: usize,
        request: &Request,
        refused: bool,
        at: u64,
    ) -> Evaluation {
        let now = self.now;
        self.pending.0.retain(|_, pending| pending.until > now);
        let mut plan = plan::plan(self.about(node, Via::Http), request, Aim::Take);
        self.now = at;
        for check in &mut plan.checks {
            if let Fallback::Policy(allowed) = self.fallback(check) {
                check.unasked = Some(allowed);
            }
        }
        let Plan { outcome, checks, cost, tier, unlimited, .. } = plan;
        let mut by = None;
        let asked = outcome == Outcome::Asked && !checks.is_empty();
        let verdict = asked.then(|| {
            self.decide_sets(&checks, |model, set| {
                let (verdict, decided_by) = model.decide_set_here(node, set, refused);
                if !set[0].shadow {
                    by = Some(decided_by);
                }
                (verdict.allowed, verdict.decisions)
            })
        });
        let evaluation =
            Evaluation { outcome, checks, verdict, cost, tier, unlimited, now: at, by };
        self.counts[node].add(&evaluation, &self.file);
        evaluation
    }

    /// Decides a set on this node's shares; also returns what decided it.
    fn decide_set_here(
        &mut self,
        node: usize,
        checks: &[Planned],
        refused: bool,
    ) -> (Verdict, &'static str) {
        let denied = checks.iter().any(|check| check.unasked == Some(false));
        let local = checks.iter().any(|check| !check.is_unasked());
        let shares: Vec<usize> = (0..checks.len())
            .filter(|place| matches!(self.fallback(&checks[*place]), Fallback::Share))
            .collect();
        // Answers describe the configured limits, with the numbers of the shares.
        let mut here = checks.to_vec();
        if !denied {
            for &place in &shares {
                here[place] = self.share(node, &checks[place]);
                self.seed(node, &checks[place], &here[place], refused);
            }
        }
        let verdict = self.decide_here(&here, denied);
        if verdict.allowed {
            for &place in &shares {
                self.add_pending(node, &checks[place], verdict.decisions[place].as_ref());
            }
        }
        (verdict, if denied || !local { "policy" } else { "share" })
    }

    /// Replays the pending charges of a node to the counters of a set, before its decision.
    pub(super) fn replay(&mut self, node: usize, checks: &[Planned]) {
        for check in checks.iter().filter(|check| check.node.is_none()) {
            let name = (node, check.limit.name.clone(), check.key.clone());
            let Some(Pending { units, until }) = self.pending.0.remove(&name) else { continue };
            let units = units.min(self.used_here(&self.share(node, check)));
            if until > self.now && units > 0 {
                let handle = check.limit.handle();
                self.oracle.define(&handle, &check.limit.to_oracle());
                let at = CellAt {
                    limit: &handle,
                    key: &check.key,
                    now: self.now,
                    period: check.limit.period(self.now),
                };
                self.oracle.charge_late(&at, units);
            }
        }
    }

    /// Whether any node has charges to replay.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.0.is_empty()
    }

    fn fallback(&self, check: &Planned) -> Fallback {
        let rule = check.rule.and_then(|rule| self.file.rules.get(rule));
        match rule.map(|rule| rule.on_store_error) {
            _ if check.node.is_some() => Fallback::Own,
            _ if check.is_rescale() => Fallback::Policy(true),
            Some(OnStoreError::Allow) => Fallback::Policy(true),
            Some(OnStoreError::Deny) => Fallback::Policy(false),
            Some(OnStoreError::Local) | None => Fallback::Share,
        }
    }

    /// The same check on a node's share of its limit.
    fn share(&self, node: usize, check: &Planned) -> Planned {
        let limit = share_of(&check.limit, self.counts.len() as u64 - self.stopped);
        Planned { limit, key: format!("node {node} share of {}", check.key), ..check.clone() }
    }

    /// Charges a share with the part of the whole limit that the node saw in use.
    fn seed(&mut self, node: usize, whole: &Planned, share: &Planned, refused: bool) {
        let name = (node, whole.limit.name.clone(), whole.key.clone());
        // Nodes store long states only if they refuse.
        let known = refused || whole.limit.is_bucket() || whole.limit.algorithm == "fixed_window";
        if !known || self.pending.0.contains_key(&name) {
            return;
        }
        let handle = whole.limit.handle();
        self.oracle.define(&handle, &whole.limit.to_oracle());
        let period = whole.limit.period(self.now);
        let at = CellAt { limit: &handle, key: &whole.key, now: self.now, period };
        let used = u128::from(self.oracle.used_parts(&at, PARTS));
        let capacity = u128::from(share.limit.capacity);
        let mut units = (used * capacity).div_ceil(u128::from(PARTS));
        if whole.limit.is_cooldown() && !self.is_blocked(whole) {
            // Attempts count as failures, and block nothing by themselves.
            units = units.min(capacity - 1);
        }
        let units = u64::try_from(units).unwrap_or(u64::MAX).saturating_sub(self.used_here(share));
        if units > 0 {
            let ask = AskSpec::Charge { units };
            self.ask(&[Planned { ask, alternative: false, ..share.clone() }], false);
        }
    }

    fn is_blocked(&mut self, check: &Planned) -> bool {
        self.peek(check).is_some_and(|made| made.reason == Some(Reason::Blocked))
    }

    fn used_here(&mut self, share: &Planned) -> u64 {
        self.peek(share).map_or(0, |made| made.limit.saturating_sub(made.remaining))
    }

    fn peek(&mut self, check: &Planned) -> Option<ExpectedDecision> {
        let ask = AskSpec::Take { least: 0, most: 0, patience_us: None };
        let (_, made) = self.ask(&[Planned { ask, alternative: false, ..check.clone() }], false);
        made.into_iter().next().flatten()
    }

    /// Decides the checks that this node counts; the others have their policy's answer.
    fn decide_here(&mut self, checks: &[Planned], denied: bool) -> Verdict {
        let mut own = Vec::new();
        let mut term_is_own = false;
        for check in checks {
            term_is_own &= check.alternative;
            if !check.is_unasked() {
                own.push(Planned { alternative: term_is_own, ..check.clone() });
                term_is_own = true;
            }
        }
        let (admitted, made) = match denied {
            true => (false, vec![None; own.len()]),
            false => self.ask(&own, false),
        };
        let mut made = made.into_iter();
        let decisions = checks.iter().map(|check| match check.unasked {
            Some(allowed) => Some(policy_decision(check, allowed, admitted)),
            None => made.next().flatten(),
        });
        Verdict::new(checks, decisions.collect(), admitted)
    }

    fn add_pending(&mut self, node: usize, check: &Planned, made: Option<&ExpectedDecision>) {
        let Some(made) = made.filter(|made| made.receipt && made.granted > 0) else { return };
        if check.limit.is_cooldown() || check.limit.holds() {
            return;
        }
        let until = self.now + made.reset_after_us;
        let name = (node, check.limit.name.clone(), check.key.clone());
        let pending = self.pending.0.entry(name).or_insert(Pending { units: 0, until });
        pending.units += made.granted;
        pending.until = pending.until.max(until);
    }
}

/// The decision of a fallback: the counter is unknown, and reported as unused.
fn policy_decision(check: &Planned, allowed: bool, admitted: bool) -> ExpectedDecision {
    let granted = match check.ask {
        AskSpec::Take { most, .. } if allowed && admitted => most,
        _ => 0,
    };
    ExpectedDecision {
        allowed,
        reason: (!allowed).then_some(Reason::Busy),
        granted,
        limit: check.limit.capacity,
        remaining: check.limit.capacity,
        retry_after_us: None,
        reset_after_us: 0,
        delay_us: 0,
        receipt: false,
    }
}

/// One of `nodes` shares of a limit: the same rate and capacity, divided, and no debt.
fn share_of(limit: &Limit, nodes: u64) -> Limit {
    let own = |all: u64| (all / nodes).max(1);
    let bucket = |spec: BucketSpec, served: u64| BucketSpec {
        amount: spec.amount,
        period_us: spec.period_us * nodes,
        burst: own(spec.burst + served) - served,
        debt: false,
    };
    let spec = match limit.spec.clone() {
        AlgorithmSpec::TokenBucket(spec) => AlgorithmSpec::TokenBucket(bucket(spec, 0)),
        AlgorithmSpec::LeakyBucket(spec) => AlgorithmSpec::LeakyBucket(bucket(spec, 0)),
        AlgorithmSpec::Queue(spec) => AlgorithmSpec::Queue(bucket(spec, 1)),
        AlgorithmSpec::FixedWindow { amount, period_us, .. } => {
            AlgorithmSpec::FixedWindow { amount: own(amount), period_us, debt: false }
        }
        AlgorithmSpec::SlidingWindow { amount, period_us, slices, strict, .. } => {
            let amount = own(amount);
            AlgorithmSpec::SlidingWindow { amount, period_us, slices, strict, debt: false }
        }
        AlgorithmSpec::SlidingLog { amount, period_us, .. } => {
            AlgorithmSpec::SlidingLog { amount: own(amount), period_us, debt: false }
        }
        AlgorithmSpec::Concurrency { slots, lease_us } => {
            AlgorithmSpec::Concurrency { slots: own(slots), lease_us }
        }
        cooldown @ AlgorithmSpec::Cooldown { .. } => cooldown,
    };
    let capacity = match limit.is_cooldown() {
        true => limit.capacity,
        false => own(limit.capacity),
    };
    Limit { spec, capacity, ..limit.clone() }
}

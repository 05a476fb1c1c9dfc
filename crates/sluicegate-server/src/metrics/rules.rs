//! What became of requests that go by rules, by rule and outcome.
//!
//! The series of a rule set are looked up once, when it is first met. Rules that keep their name over
//! a reload keep their counts.

use std::borrow::Cow;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use sluicegate::{Ask, Verdict};
use sluicegate_rules::{Answered, Mode, Outcome, Planned, RuleSet};

/// Labels of a decision. Their values come from the rule file and fixed sets.
pub(super) type Labels = Vec<(&'static str, Cow<'static, str>)>;

const OUTCOMES: [&str; 4] = ["allowed", "delayed", "refused", "shadowed"];

/// What a rule said to one request; an index of [`OUTCOMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Allowed,
    Delayed,
    Refused,
    /// It would have refused, if it were more than a shadow.
    Shadowed,
}

/// What is counted of requests that go by rules.
#[derive(Debug)]
pub(super) struct RuleMetrics {
    decisions: Family<Labels, Counter>,
    resolved: ArcSwap<Resolved>,
    unmatched: Counter,
    allow_listed: Counter,
    block_listed: Counter,
    unidentified: Counter,
}

/// The series of one rule set, in the order of its rules.
#[derive(Debug, Default)]
struct Resolved {
    generation: u64,
    rules: Vec<[Counter; OUTCOMES.len()]>,
}

impl RuleMetrics {
    pub(super) fn new(decisions: Family<Labels, Counter>, registry: &mut Registry) -> Self {
        let (unmatched, unidentified) = (Counter::default(), Counter::default());
        registry.register("unmatched", "Requests that no rule applied to", unmatched.clone());
        registry.register(
            "unidentified",
            "Requests refused because they did not say who was asking",
            unidentified.clone(),
        );
        let lists = Family::<[(&str, &str); 1], Counter>::default();
        let listed = |list| lists.get_or_create_owned(&[("list", list)]);
        let (allow_listed, block_listed) = (listed("allow"), listed("block"));
        registry.register("listed", "Requests of callers who are on a list", lists);
        let resolved = ArcSwap::default();
        Self { decisions, resolved, unmatched, allow_listed, block_listed, unidentified }
    }

    /// Makes sure that each rule has its series, at zero if need be.
    pub(super) fn show(&self, rules: &RuleSet) {
        self.of(rules);
    }

    /// Counts what became of a request.
    pub(super) fn count(&self, answered: &Answered<'_>) {
        let planned = answered.planned;
        match planned.outcome() {
            Outcome::Free => _ = self.allow_listed.inc(),
            Outcome::Blocked => _ = self.block_listed.inc(),
            Outcome::Unidentified { .. } => _ = self.unidentified.inc(),
            Outcome::Ask => match answered.verdict {
                None => _ = self.unmatched.inc(),
                Some(verdict) => {
                    let resolved = self.of(planned.rules());
                    let rules = planned.rules().rules();
                    each_rule(planned, verdict, |rule, standing| {
                        if let (Some(counters), Some(rule)) =
                            (resolved.rules.get(rule), rules.get(rule))
                        {
                            counters[standing.said(rule.mode()) as usize].inc();
                        }
                    });
                }
            },
        }
    }

    /// The series of a rule set.
    fn of(&self, rules: &RuleSet) -> Guard<Arc<Resolved>> {
        let resolved = self.resolved.load();
        if resolved.generation == rules.generation() {
            return resolved;
        }
        // Requests that go by the rules before a reload may bring those back for a moment; the next
        // that goes by the new ones looks them up again.
        self.resolved.store(Arc::new(self.resolve(rules)));
        let resolved = self.resolved.load();
        if resolved.generation == rules.generation() {
            return resolved;
        }
        Guard::from_inner(Arc::new(self.resolve(rules)))
    }

    fn resolve(&self, rules: &RuleSet) -> Resolved {
        let counters = rules.rules().iter().map(|rule| {
            OUTCOMES.map(|outcome| {
                let name = Cow::Owned(rule.name().to_owned());
                let labels = vec![("rule", name), ("outcome", Cow::Borrowed(outcome))];
                self.decisions.get_or_create_owned(&labels)
            })
        });
        Resolved { generation: rules.generation(), rules: counters.collect() }
    }
}

/// What each rule said to a request. The checks of a rule stand together.
fn each_rule(planned: &Planned<'_>, verdict: &Verdict, mut tell: impl FnMut(usize, Standing)) {
    let mut current: Option<(usize, Standing)> = None;
    let checks = planned.plan().checks().iter().zip(verdict.decisions());
    for (index, (check, decision)) in checks.enumerate() {
        let (Some(rule), Some(decision)) = (planned.rule_index(index), decision) else { continue };
        // A check that only tells of a change of tier says nothing about the request.
        if matches!(check.asks(), Ask::Rescale { .. }) {
            continue;
        }
        if current.as_ref().is_none_or(|(other, _)| *other != rule) {
            if let Some((other, standing)) = current.take() {
                tell(other, standing);
            }
            current = Some((rule, Standing::default()));
        }
        let Some((_, standing)) = &mut current else { continue };
        if !check.is_alternative() {
            standing.refused |= standing.refuses;
            standing.refuses = true;
        }
        if decision.is_allowed() {
            standing.refuses = false;
            let delay = decision.delay() + check.delay_if_admitted();
            standing.delayed |= verdict.is_allowed() && !delay.is_zero();
        }
    }
    if let Some((rule, standing)) = current {
        tell(rule, standing);
    }
}

/// What is known of a rule's answer so far.
#[derive(Debug, Default)]
struct Standing {
    refused: bool,
    /// Whether the requirement at hand has not been met yet.
    refuses: bool,
    delayed: bool,
}

impl Standing {
    fn said(&self, mode: Mode) -> Said {
        match (self.refused || self.refuses, mode) {
            (true, Mode::Shadow) => Said::Shadowed,
            (true, Mode::Enforce) => Said::Refused,
            (false, Mode::Enforce) if self.delayed => Said::Delayed,
            (false, _) => Said::Allowed,
        }
    }
}

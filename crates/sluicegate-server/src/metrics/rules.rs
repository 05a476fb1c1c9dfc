//! Metrics of evaluations, by rule and outcome.
//!
//! The series of a rule set are looked up once, when it is first used. Rules that keep their name
//! over a reload keep their counts.

use std::borrow::Cow;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use sluicegate_http::RateLimitInfo;
use sluicegate_rules::{Evaluation, Mode, PlanOutcome, RuleSet};

/// Labels of a decision. Their values come from the rule file and fixed sets.
pub(super) type Labels = Vec<(&'static str, Cow<'static, str>)>;

const OUTCOMES: [&str; 4] = ["allowed", "delayed", "refused", "shadowed"];

/// The outcome of a rule for one request; an index of [`OUTCOMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestOutcome {
    Allowed,
    Delayed,
    Refused,
    /// The rule is in shadow mode and would have refused.
    Shadowed,
}

/// Counts evaluations by rule and outcome.
#[derive(Debug)]
pub(super) struct RuleMetrics {
    decisions: Family<Labels, Counter>,
    resolved: ArcSwap<RuleSeries>,
    unmatched: Counter,
    allow_listed: Counter,
    block_listed: Counter,
    unidentified: Counter,
}

/// The series of one rule set, in the order of its rules.
#[derive(Debug, Default)]
struct RuleSeries {
    generation: u64,
    rules: Vec<[Counter; OUTCOMES.len()]>,
}

impl RuleMetrics {
    pub(super) fn new(decisions: Family<Labels, Counter>, registry: &mut Registry) -> Self {
        let (unmatched, unidentified) = (Counter::default(), Counter::default());
        registry.register("unmatched", "Requests that no rule applied to", unmatched.clone());
        registry.register(
            "unidentified",
            "Requests refused for lack of an identity",
            unidentified.clone(),
        );
        let lists = Family::<[(&str, &str); 1], Counter>::default();
        let listed = |list| lists.get_or_create_owned(&[("list", list)]);
        let (allow_listed, block_listed) = (listed("allow"), listed("block"));
        registry.register("listed", "Requests of callers on a list", lists);
        let resolved = ArcSwap::default();
        Self { decisions, resolved, unmatched, allow_listed, block_listed, unidentified }
    }

    /// Creates the series of each rule, so that a scrape shows it at zero.
    pub(super) fn ensure_series(&self, rules: &RuleSet) {
        self.of(rules);
    }

    /// Counts the evaluation of a request.
    pub(super) fn count(&self, evaluation: &Evaluation<'_>) {
        let planned = evaluation.planned;
        match planned.outcome() {
            PlanOutcome::Free => _ = self.allow_listed.inc(),
            PlanOutcome::Blocked => _ = self.block_listed.inc(),
            PlanOutcome::Unidentified { .. } => _ = self.unidentified.inc(),
            PlanOutcome::Check if evaluation.verdict.is_none() => _ = self.unmatched.inc(),
            PlanOutcome::Check => {
                let resolved = self.of(planned.rules());
                let rules = planned.rules().rules();
                for_each_rule(evaluation, |rule, outcome| {
                    if let (Some(counters), Some(rule)) =
                        (resolved.rules.get(rule), rules.get(rule))
                    {
                        counters[outcome.resolve(rule.mode()) as usize].inc();
                    }
                });
            }
        }
    }

    /// Returns the series of a rule set.
    fn of(&self, rules: &RuleSet) -> Guard<Arc<RuleSeries>> {
        let resolved = self.resolved.load();
        if resolved.generation == rules.generation() {
            return resolved;
        }
        // A request that still uses the rules before a reload may store their series once more; the
        // next request with the new rules looks those up again.
        self.resolved.store(Arc::new(self.resolve(rules)));
        let resolved = self.resolved.load();
        if resolved.generation == rules.generation() {
            return resolved;
        }
        Guard::from_inner(Arc::new(self.resolve(rules)))
    }

    fn resolve(&self, rules: &RuleSet) -> RuleSeries {
        let counters = rules.rules().iter().map(|rule| {
            OUTCOMES.map(|outcome| {
                let name = Cow::Owned(rule.name().to_owned());
                let labels = vec![("rule", name), ("outcome", Cow::Borrowed(outcome))];
                self.decisions.get_or_create_owned(&labels)
            })
        });
        RuleSeries { generation: rules.generation(), rules: counters.collect() }
    }
}

/// Calls `visit` with the outcome of each rule.
///
/// The checks of a rule are adjacent in the plan.
fn for_each_rule(evaluation: &Evaluation<'_>, mut visit: impl FnMut(usize, RuleOutcome)) {
    let mut current: Option<(usize, RuleOutcome)> = None;
    for limit in RateLimitInfo::of(evaluation).limits() {
        let Some(rule) = evaluation.planned.rule_index(limit.index) else { continue };
        let (_, outcome) = match &mut current {
            Some(of_rule) if of_rule.0 == rule => of_rule,
            other => {
                if let Some((before, outcome)) = other.replace((rule, RuleOutcome::default())) {
                    visit(before, outcome);
                }
                let Some(of_rule) = other else { continue };
                of_rule
            }
        };
        outcome.refused |= !limit.term_admits;
        outcome.delayed |= !limit.delay().is_zero();
    }
    if let Some((rule, outcome)) = current {
        visit(rule, outcome);
    }
}

/// The outcome of a rule so far, while its limits are read.
#[derive(Debug, Default)]
struct RuleOutcome {
    refused: bool,
    delayed: bool,
}

impl RuleOutcome {
    fn resolve(&self, mode: Mode) -> RequestOutcome {
        match (self.refused, mode) {
            (true, Mode::Shadow) => RequestOutcome::Shadowed,
            (true, Mode::Enforce) => RequestOutcome::Refused,
            (false, Mode::Enforce) if self.delayed => RequestOutcome::Delayed,
            (false, _) => RequestOutcome::Allowed,
        }
    }
}

//! Counts of decisions, as metrics have them.

use std::collections::BTreeMap;

use super::evaluation::{Evaluation, Outcome};
use crate::case::Throttle;
use crate::rule_file::RuleFile;

/// Series of `/metrics` with their values, for one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts(pub(crate) BTreeMap<String, u64>);

impl Counts {
    fn one(&mut self, series: String) {
        *self.0.entry(series).or_default() += 1;
    }

    /// Counts the outcome of a checked request.
    pub(crate) fn add(&mut self, evaluation: &Evaluation, file: &RuleFile) {
        match (&evaluation.outcome, &evaluation.verdict) {
            (Outcome::Free, _) => self.one("sluicegate_listed_total{list=\"allow\"}".into()),
            (Outcome::Blocked, _) => self.one("sluicegate_listed_total{list=\"block\"}".into()),
            (Outcome::Unidentified { .. }, _) => self.one("sluicegate_unidentified_total".into()),
            (Outcome::Asked, None) => self.one("sluicegate_unmatched_total".into()),
            (Outcome::Asked, Some(_)) => self.add_rules(evaluation, file),
        }
    }

    fn add_rules(&mut self, evaluation: &Evaluation, file: &RuleFile) {
        for (place, rule) in file.rules.iter().enumerate() {
            let Some((refused, delayed)) = standing(evaluation, place) else { continue };
            let outcome = match (refused, rule.shadow) {
                (true, true) => "shadowed",
                (true, false) => "refused",
                (false, false) if delayed => "delayed",
                (false, _) => "allowed",
            };
            self.one(series(&rule.name, outcome));
        }
    }

    /// Counts a quota that came with its request.
    ///
    /// The Redis protocol counts no delays and no refunds.
    pub(crate) fn add_throttle(
        &mut self,
        evaluation: &Evaluation,
        throttle: &Throttle,
        resp: bool,
    ) {
        let Some(verdict) = &evaluation.verdict else { return };
        if resp && throttle.cost < 0 {
            return;
        }
        let outcome = match (verdict.allowed, verdict.delay_us) {
            (false, _) => "refused",
            (true, delay) if delay > 0 && !resp => "delayed",
            (true, _) => "allowed",
        };
        let algorithm = throttle.algorithm.name();
        self.one(format!(
            "sluicegate_decisions_total{{rule=\"throttle\",algorithm=\"{algorithm}\",outcome=\"{outcome}\"}}"
        ));
    }
}

fn series(rule: &str, outcome: &str) -> String {
    format!("sluicegate_decisions_total{{rule=\"{rule}\",outcome=\"{outcome}\"}}")
}

/// Returns whether a rule refuses the request, and whether it delays it; `None` if not evaluated.
fn standing(evaluation: &Evaluation, rule: usize) -> Option<(bool, bool)> {
    let verdict = evaluation.verdict.as_ref()?;
    let mut asked = false;
    let (mut refused, mut delayed) = (false, false);
    let mut term_met = true;
    let made = verdict.decisions.iter().zip(&verdict.admitted);
    for (check, (made, admitted)) in evaluation.checks.iter().zip(made) {
        let Some(made) = made.filter(|_| check.rule == Some(rule) && !check.is_rescale()) else {
            continue;
        };
        asked = true;
        if !check.alternative {
            refused |= !term_met;
            term_met = false;
        }
        if made.allowed {
            term_met = true;
            delayed |= *admitted && made.delay_us + check.delay_us > 0;
        }
    }
    asked.then_some((refused || !term_met, delayed))
}

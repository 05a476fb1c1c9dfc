//! The findings of one rule so far.

use crate::bounds::TimeInterval;
use crate::findings::{RuleFindings, Tightest, Violation};
use crate::prepared_rule::PreparedRule;
use crate::trace::entry::TraceEntry;

/// The number of violations of a rule that are kept; all are counted.
const SHOWN: usize = 20;

/// The findings of one rule so far.
#[derive(Debug)]
pub(super) struct RuleTally {
    rule: String,
    decisions: u64,
    allowed: u64,
    refused: u64,
    exact: u64,
    within_bounds: u64,
    skipped: u64,
    /// Admissions without any limit, by a rule that fails open.
    unlimited: u64,
    tightest: Option<(TimeInterval, String)>,
    broken: u64,
    violations: Vec<Violation>,
}

impl RuleTally {
    pub(super) fn new(rule: &str) -> Self {
        Self {
            rule: rule.to_owned(),
            decisions: 0,
            allowed: 0,
            refused: 0,
            exact: 0,
            within_bounds: 0,
            skipped: 0,
            unlimited: 0,
            tightest: None,
            broken: 0,
            violations: Vec::new(),
        }
    }

    pub(super) fn count<'a>(&mut self, entries: impl Iterator<Item = &'a TraceEntry>) {
        for entry in entries.filter(|entry| entry.event.is_decision()) {
            self.decisions += 1;
            if entry.allowed {
                self.allowed += 1;
            } else {
                self.refused += 1;
            }
        }
    }

    /// Counts a compared decision, exactly or within bounds.
    pub(super) fn compared(&mut self, exactly: bool) {
        if exactly {
            self.exact += 1;
        } else {
            self.within_bounds += 1;
        }
    }

    pub(super) fn skipped(&mut self) {
        self.skipped += 1;
    }

    pub(super) fn unlimited(&mut self) {
        self.unlimited += 1;
    }

    pub(super) fn measured(&mut self, interval: TimeInterval, key: &str) {
        if self.tightest.as_ref().is_none_or(|(other, _)| interval.is_tighter(other)) {
            self.tightest = Some((interval, key.to_owned()));
        }
    }

    pub(super) fn report(&mut self, violation: Violation) {
        self.broken += 1;
        if self.violations.len() < SHOWN {
            self.violations.push(violation);
        }
    }

    /// Returns the number of violations.
    pub(super) const fn broken(&self) -> u64 {
        self.broken
    }

    /// Returns the first violations.
    pub(super) fn into_violations(self) -> Vec<Violation> {
        self.violations
    }

    pub(super) fn note(&self) -> Option<String> {
        (self.unlimited > 0).then(|| {
            format!(
                "the rule `{}` allowed {} requests without the store, as configured; \
                 no limit applies to them",
                self.rule, self.unlimited
            )
        })
    }

    pub(super) fn findings(
        self,
        rule: &PreparedRule,
        keys: usize,
    ) -> (RuleFindings, Vec<Violation>) {
        let findings = RuleFindings {
            rule: self.rule,
            limit: rule.title.clone(),
            decisions: self.decisions,
            allowed: self.allowed,
            refused: self.refused,
            keys,
            exact: self.exact,
            within_bounds: self.within_bounds,
            skipped: self.skipped,
            tightest: self.tightest.map(|(interval, key)| Tightest {
                key,
                admitted: interval.admitted,
                allowed: interval.allowed,
                from_us: interval.from,
                length_us: interval.until - interval.from,
            }),
            broken: self.broken,
        };
        (findings, self.violations)
    }
}

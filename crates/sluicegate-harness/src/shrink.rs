//! Makes a failing case smaller while it still fails.

use crate::case::{Action, Case, StoreKind};
use crate::rule_file::RuleFile;

/// The smallest case found that still differs.
pub(crate) fn shrink(case: Case, attempts: usize, mut fails: impl FnMut(&Case) -> bool) -> Case {
    let mut shrinker = Shrinker { best: case, left: attempts, fails: &mut fails };
    shrinker.steps();
    shrinker.nodes_and_store();
    shrinker.rules();
    shrinker.steps();
    shrinker.best
}

struct Shrinker<'f> {
    best: Case,
    left: usize,
    fails: &'f mut dyn FnMut(&Case) -> bool,
}

impl Shrinker<'_> {
    /// Keeps a candidate if it still fails.
    fn try_case(&mut self, candidate: Case) -> bool {
        if self.left == 0 || candidate == self.best {
            return false;
        }
        self.left -= 1;
        let fails = (self.fails)(&candidate);
        if fails {
            self.best = candidate;
        }
        fails
    }

    /// Removes steps, many at a time first; a removed step leaves its wait to the next one.
    fn steps(&mut self) {
        let mut size = self.best.steps.len().div_ceil(2);
        while size > 0 {
            let mut start = 0;
            while start < self.best.steps.len() {
                let mut candidate = self.best.clone();
                let end = (start + size).min(candidate.steps.len());
                let waited: i64 = candidate.steps.drain(start..end).map(|step| step.wait_us).sum();
                if let Some(next) = candidate.steps.get_mut(start) {
                    next.wait_us += waited;
                }
                if !self.try_case(candidate) {
                    start += size;
                }
            }
            size /= 2;
        }
    }

    fn nodes_and_store(&mut self) {
        let candidate = Case { nodes: 1, ..self.best.clone() };
        self.try_case(candidate);
        for store in [StoreKind::Memory, StoreKind::Redis] {
            let nodes = if store == StoreKind::Memory { 1 } else { self.best.nodes };
            let candidate = Case { store, nodes, ..self.best.clone() };
            if self.try_case(candidate) {
                return;
            }
        }
    }

    fn rules(&mut self) {
        let names: Vec<String> =
            self.best.rules.rules.iter().map(|rule| rule.name.clone()).collect();
        for name in names {
            let mut candidate = self.best.clone();
            without(&mut candidate.rules, &name);
            for step in &mut candidate.steps {
                if let Action::Edit { rules } = &mut step.action {
                    without(rules, &name);
                }
            }
            if !candidate.rules.rules.is_empty() {
                self.try_case(candidate);
            }
        }
    }
}

fn without(file: &mut RuleFile, name: &str) {
    file.rules.retain(|rule| rule.name != name);
    file.overrides.retain(|one| one.rule != name);
}

//! Other ways to check: batches and sets.

use std::hint::black_box;

use sluicegate::{Check, Limit, Limiter, Plan};

use crate::contender::{Budget, Contender, Sluicegate};

pub(crate) const BATCH: usize = 16;

/// Checks keys in batches.
pub(crate) struct Batches<'a>(pub(crate) &'a Sluicegate);

impl<'k> Contender<'k> for Batches<'_> {
    fn check_all(&self, keys: &[&'k str]) -> usize {
        let Sluicegate { limiter, limit } = self.0;
        let (batches, _) = keys.as_chunks::<BATCH>();
        let mut admitted = 0;
        for batch in batches {
            let checks = batch.map(|key| Check::new(limit, key));
            let count =
                |made: &sluicegate::Decision| admitted += usize::from(black_box(made).is_allowed());
            assert_eq!(limiter.try_check_batch(&checks, count), BATCH);
        }
        admitted
    }
}

/// Three limits on one store.
pub(crate) struct ThreeLimits {
    limiter: Limiter,
    limits: [Limit; 3],
}

impl ThreeLimits {
    pub(crate) fn new(budget: Budget) -> Self {
        let limits = ["per-user", "per-address", "per-tenant"].map(|name| budget.limit(name));
        Self { limiter: Limiter::in_memory(), limits }
    }

    /// Checks each of the limits for each of the keys.
    pub(crate) fn meet(&self, keys: &[&str]) {
        for limit in &self.limits {
            for key in keys {
                self.limiter.check(Check::new(limit, key)).now().unwrap();
            }
        }
    }

    fn plan<'a>(&'a self, keys: &[&'a str; 3]) -> Plan<'a> {
        let mut plan = Plan::new();
        for (limit, key) in self.limits.iter().zip(keys) {
            plan.require(Check::new(limit, *key));
        }
        plan
    }

    /// Checks the plan; returns how many keys were admitted, all or none.
    fn ask(&self, plan: &Plan<'_>) -> usize {
        let answer = self.limiter.check_plan(plan).now();
        let verdict = black_box(&answer).as_ref().unwrap();
        verdict.decisions().len() * usize::from(verdict.is_allowed())
    }
}

/// One check at a time, of the first limit only or of each in turn.
pub(crate) struct SingleChecks<'a> {
    pub(crate) three: &'a ThreeLimits,
    pub(crate) limits: usize,
}

impl<'k> Contender<'k> for SingleChecks<'_> {
    fn check_all(&self, keys: &[&'k str]) -> usize {
        let limits = self.three.limits[..self.limits].iter().cycle();
        let answers = limits.zip(keys).map(|(limit, key)| {
            let decision = self.three.limiter.check(Check::new(limit, *key)).now().unwrap();
            black_box(&decision).is_allowed()
        });
        answers.filter(|allowed| *allowed).count()
    }
}

/// Three keys at a time, one for each limit, in a plan made for just that request.
pub(crate) struct FreshPlan<'a>(pub(crate) &'a ThreeLimits);

impl<'k> Contender<'k> for FreshPlan<'_> {
    fn check_all(&self, keys: &[&'k str]) -> usize {
        let (sets, _) = keys.as_chunks::<3>();
        sets.iter().map(|keys| self.0.ask(&self.0.plan(keys))).sum()
    }
}

/// Three keys at a time, always the first three, in a plan made once.
pub(crate) struct ReusedPlan<'a>(pub(crate) &'a ThreeLimits);

impl<'k> Contender<'k> for ReusedPlan<'_> {
    fn check_all(&self, keys: &[&'k str]) -> usize {
        let (sets, _) = keys.as_chunks::<3>();
        let plan = self.0.plan(&sets[0]);
        sets.iter().map(|_| self.0.ask(&plan)).sum()
    }
}

//! The verdicts of requests that were decided in one step.

use sluicegate_core::{Ruling, Time};

use super::{Verdict, blocker};
use crate::plan::Plan;
use crate::store::Applied;

impl Verdict {
    /// One verdict for each of the plans whose checks, one behind the other, were the plan of this
    /// one.
    ///
    /// A plan whose own checks are in nobody's way is allowed, also where another was refused: then
    /// nothing was charged to it either.
    pub fn split(&self, plans: &[Plan<'_>]) -> Vec<Self> {
        let mut rest = &self.decisions[..];
        let part = |plan: &Plan<'_>| {
            let (own, after) = rest.split_at(plan.checks().len().min(rest.len()));
            rest = after;
            let stands = self.allowed || blocker(plan.checks(), own).is_none();
            let ruling = if stands { Ruling::Admitted } else { Ruling::Refused };
            let mut verdict = Self::unresolved(own.len());
            verdict.places().copy_from_slice(own);
            verdict.resolve(plan.checks(), Applied { ruling, now: Time::EPOCH, by: self.by });
            verdict
        };
        plans.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Check, Limit, Limiter, Plan};

    fn plan<'a>(limit: &'a Limit, key: &'a str) -> Plan<'a> {
        let mut plan = Plan::new();
        plan.require(Check::new(limit, key));
        plan
    }

    fn remaining(verdict: &super::Verdict) -> u64 {
        verdict.strictest().unwrap().decision.remaining()
    }

    #[test]
    fn plans_asked_together_are_charged_together_or_not_at_all() {
        let limiter = Limiter::in_memory();
        let wide = Limit::token_bucket("wide", "10/day".parse().unwrap()).unwrap();
        let tight = Limit::token_bucket("tight", "1/day".parse().unwrap()).unwrap();
        let plans = [plan(&wide, "a"), Plan::new(), plan(&tight, "a"), plan(&wide, "b")];

        let verdicts = limiter.check_together(&plans).now().unwrap();
        let allowed: Vec<bool> = verdicts.iter().map(super::Verdict::is_allowed).collect();
        assert_eq!(allowed, [true; 4]);
        assert_eq!([&verdicts[0], &verdicts[2], &verdicts[3]].map(remaining), [9, 0, 9]);

        let verdicts = limiter.check_together(&plans).now().unwrap();
        let allowed: Vec<bool> = verdicts.iter().map(super::Verdict::is_allowed).collect();
        assert_eq!(allowed, [true, true, false, true], "only the one in the way is refused");
        assert_eq!([&verdicts[0], &verdicts[2], &verdicts[3]].map(remaining), [9, 0, 9]);
        assert!(verdicts[2].retry_after().is_some());
    }

    #[test]
    fn a_counter_that_two_plans_share_sees_the_charge_of_the_first() {
        let limiter = Limiter::in_memory();
        let limit = Limit::token_bucket("limit", "3/day".parse().unwrap()).unwrap();
        let plans = [plan(&limit, "a"), plan(&limit, "a")];
        let verdicts = limiter.check_together(&plans).now().unwrap();
        assert_eq!([&verdicts[0], &verdicts[1]].map(remaining), [2, 1]);
        let verdicts = limiter.check_together(&plans).now().unwrap();
        let allowed: Vec<bool> = verdicts.iter().map(super::Verdict::is_allowed).collect();
        assert_eq!(allowed, [true, false], "there is one left, and two are asked for");
        assert_eq!(limiter.peek(&limit, "a").now().unwrap().remaining(), 1);
    }
}

//! The verdicts of requests that were decided in one step.

use sluicegate_core::{Ruling, Time};

use super::{Verdict, blocker};
use crate::plan::Plan;
use crate::store::Applied;

impl Verdict {
    /// Splits the verdict on the concatenated checks of some plans into one per plan.
    ///
    /// A plan whose own checks do not refuse is allowed, even if another one is refused: then
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

    /// Decides the plans in one step.
    fn together(limiter: &Limiter, plans: &[Plan<'_>]) -> Vec<super::Verdict> {
        let mut whole = Plan::new();
        for check in plans.iter().flat_map(Plan::checks) {
            whole.require(*check);
        }
        limiter.check_plan(&whole).now().unwrap().split(plans)
    }

    fn remaining(verdict: &super::Verdict) -> u64 {
        verdict.strictest().unwrap().decision.remaining()
    }

    #[test]
    fn plans_in_one_step_are_charged_together_or_not_at_all() {
        let limiter = Limiter::in_memory();
        let wide = Limit::token_bucket("wide", "10/day".parse().unwrap()).unwrap();
        let tight = Limit::token_bucket("tight", "1/day".parse().unwrap()).unwrap();
        let plans = [plan(&wide, "a"), Plan::new(), plan(&tight, "a"), plan(&wide, "b")];

        let verdicts = together(&limiter, &plans);
        let allowed: Vec<bool> = verdicts.iter().map(super::Verdict::is_allowed).collect();
        assert_eq!(allowed, [true; 4]);
        assert_eq!([&verdicts[0], &verdicts[2], &verdicts[3]].map(remaining), [9, 0, 9]);

        let verdicts = together(&limiter, &plans);
        let allowed: Vec<bool> = verdicts.iter().map(super::Verdict::is_allowed).collect();
        assert_eq!(allowed, [true, true, false, true], "only the one in the way is refused");
        assert_eq!([&verdicts[0], &verdicts[2], &verdicts[3]].map(remaining), [9, 0, 9]);
        assert!(verdicts[2].retry_after().is_some());
    }

    #[test]
    fn a_shared_counter_includes_the_charge_of_the_first_plan() {
        let limiter = Limiter::in_memory();
        let limit = Limit::token_bucket("limit", "3/day".parse().unwrap()).unwrap();
        let plans = [plan(&limit, "a"), plan(&limit, "a")];
        let verdicts = together(&limiter, &plans);
        assert_eq!([&verdicts[0], &verdicts[1]].map(remaining), [2, 1]);
        let verdicts = together(&limiter, &plans);
        let allowed: Vec<bool> = verdicts.iter().map(super::Verdict::is_allowed).collect();
        assert_eq!(allowed, [true, false], "there is one left, and two are asked for");
        assert_eq!(limiter.peek(&limit, "a").now().unwrap().remaining(), 1);
    }
}

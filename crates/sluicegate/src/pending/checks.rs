//! The pending operations with a synchronous path: one check, one plan.
//!
//! The synchronous path works in place, because moving a check into a future, and its decision out
//! of one, costs as much as deciding it.

use std::future::Future;

use sluicegate_core::{Check, Decision};

use crate::error::CheckError;
use crate::limiter::Limiter;
use crate::pending::{PendingOperation, now};
use crate::plan::Plan;
use crate::store::Store;
use crate::verdict::Verdict;

/// A single check.
pub(crate) struct CheckOne<'a, S, W> {
    pub(crate) limiter: &'a Limiter<S>,
    pub(crate) check: Check<'a>,
    /// The asynchronous path.
    pub(crate) wait: W,
}

impl<'a, S, W, F> PendingOperation for CheckOne<'a, S, W>
where
    S: Store,
    W: FnOnce(&'a Limiter<S>, Check<'a>) -> F,
    F: Future<Output = Result<Decision, CheckError>> + Send,
{
    type Answer = F::Output;
    type Running = F;

    fn run(self) -> F {
        (self.wait)(self.limiter, self.check)
    }

    #[inline(always)]
    fn run_now(self) -> F::Output {
        match self.limiter.try_run(&self.check) {
            Some(decision) => Ok(decision),
            None => now(self.run()),
        }
    }
}

/// All checks of a plan.
pub(crate) struct CheckPlan<'a, 'p, S, W> {
    pub(crate) limiter: &'a Limiter<S>,
    pub(crate) plan: &'a Plan<'p>,
    /// The asynchronous path.
    pub(crate) wait: W,
}

impl<'a, 'p, S, W, F> PendingOperation for CheckPlan<'a, 'p, S, W>
where
    S: Store,
    W: FnOnce(&'a Limiter<S>, &'a Plan<'p>) -> F,
    F: Future<Output = Result<Verdict, CheckError>> + Send,
{
    type Answer = F::Output;
    type Running = F;

    fn run(self) -> F {
        (self.wait)(self.limiter, self.plan)
    }

    #[inline(always)]
    fn run_now(self) -> F::Output {
        match self.limiter.try_run_plan(self.plan) {
            Some(verdict) => Ok(verdict),
            None => now(self.run()),
        }
    }
}

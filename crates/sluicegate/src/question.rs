//! What is asked of a limiter, until it is.
//!
//! Where the answer comes at once, a question is asked where it is: moving a check into a future,
//! and its decision out of one, costs as much as deciding it.

use std::future::Future;

use sluicegate_core::{Check, Decision};

use crate::deciding::{Question, now};
use crate::error::CheckError;
use crate::limiter::Limiter;
use crate::plan::Plan;
use crate::store::Store;
use crate::verdict::Verdict;

/// One check.
pub(crate) struct Lone<'a, S, W> {
    pub(crate) limiter: &'a Limiter<S>,
    pub(crate) check: Check<'a>,
    /// How to ask when it may take a while.
    pub(crate) wait: W,
}

impl<'a, S, W, F> Question for Lone<'a, S, W>
where
    S: Store,
    W: FnOnce(&'a Limiter<S>, Check<'a>) -> F,
    F: Future<Output = Result<Decision, CheckError>> + Send,
{
    type Answer = F::Output;
    type Asking = F;

    fn ask(self) -> F {
        (self.wait)(self.limiter, self.check)
    }

    #[inline(always)]
    fn ask_now(self) -> F::Output {
        match self.limiter.ask_at_once(&self.check) {
            Some(decision) => Ok(decision),
            None => now(self.ask()),
        }
    }
}

/// All checks of a plan.
pub(crate) struct Whole<'a, 'p, S, W> {
    pub(crate) limiter: &'a Limiter<S>,
    pub(crate) plan: &'a Plan<'p>,
    /// How to ask when it may take a while.
    pub(crate) wait: W,
}

impl<'a, 'p, S, W, F> Question for Whole<'a, 'p, S, W>
where
    S: Store,
    W: FnOnce(&'a Limiter<S>, &'a Plan<'p>) -> F,
    F: Future<Output = Result<Verdict, CheckError>> + Send,
{
    type Answer = F::Output;
    type Asking = F;

    fn ask(self) -> F {
        (self.wait)(self.limiter, self.plan)
    }

    #[inline(always)]
    fn ask_now(self) -> F::Output {
        match self.limiter.ask_all_at_once(self.plan) {
            Some(verdict) => Ok(verdict),
            None => now(self.ask()),
        }
    }
}

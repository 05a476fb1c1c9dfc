//! What callers bring back: slots that are released or renewed, reservations that are settled.

use sluicegate::{CheckError, Cost, Plan, Store, Verdict};

use super::RuleLimiter;
use crate::reservation::{self, NotAReservation, Settled, Settling};
use crate::slot::{self, NotASlot, Released, Renewed};

impl<S: Store> RuleLimiter<S> {
    /// Gives back the slots that a text of [`Answered::slot`](super::Answered::slot) stands for.
    pub async fn release(&self, text: &str) -> Result<Result<Released, CheckError>, NotASlot> {
        let rules = self.rules.load();
        let held = slot::read(text, self.pen(&rules))?;
        let verdict = self.ask_if_any(&slot::release(&held, &rules)).await;
        Ok(verdict.map(|verdict| held.released(verdict.as_ref())))
    }

    /// Keeps the slots that a text of [`Answered::slot`](super::Answered::slot) stands for, for
    /// another lease from now on.
    pub async fn renew(&self, text: &str) -> Result<Result<Renewed, CheckError>, NotASlot> {
        let rules = self.rules.load();
        let held = slot::read(text, self.pen(&rules))?;
        let plan = slot::renew(&held, &rules);
        let verdict = self.ask_if_any(&plan).await;
        Ok(verdict.map(|verdict| held.renewed(&plan, verdict.as_ref())))
    }

    /// Corrects everything that a text of [`Answered::reservation`](super::Answered::reservation)
    /// says was charged to what the request really cost, in one step and once. 0 gives all of it
    /// back.
    ///
    /// ```
    /// use sluicegate::{Cost, Limiter};
    /// use sluicegate_rules::{Request, RuleSet, RuleLimiter};
    ///
    /// let rules = RuleSet::parse("rules: [{ name: tokens, key: [], limit: 1000/min }]")?;
    /// let gate = RuleLimiter::new(Limiter::in_memory(), rules)?;
    /// let estimate = Request::new().cost(500);
    /// let reserved = gate.decide_now(&estimate, |answer| answer.reservation())?.unwrap();
    ///
    /// # let settled = pollster(gate.settle(&reserved, Cost::from(120)))??;
    /// # /*
    /// let settled = gate.settle(&reserved, Cost::from(120)).await??;
    /// # */
    /// assert_eq!(settled.limits[0].decision.unwrap().granted(), 120);
    /// # let again = pollster(gate.settle(&reserved, Cost::from(120)))??;
    /// # /*
    /// let again = gate.settle(&reserved, Cost::from(120)).await??;
    /// # */
    /// assert!(!again.is_settled());
    /// # fn pollster<F: Future>(future: F) -> F::Output {
    /// #     let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
    /// #     match std::pin::pin!(future).poll(context) {
    /// #         std::task::Poll::Ready(output) => output,
    /// #         std::task::Poll::Pending => unreachable!(),
    /// #     }
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn settle(
        &self,
        text: &str,
        actual: Cost,
    ) -> Result<Result<Settled, CheckError>, NotAReservation> {
        let rules = self.rules.load();
        let told = reservation::read(text, self.pen(&rules))?;
        let settling = Settling::new(&told, &rules, actual);
        let verdict = self.ask_if_any(&settling.plan).await;
        Ok(verdict.map(|verdict| settling.settled(verdict.as_ref())))
    }

    /// Asks the store, unless there is nothing to ask.
    async fn ask_if_any(&self, plan: &Plan<'_>) -> Result<Option<Verdict>, CheckError> {
        if plan.checks().is_empty() {
            return Ok(None);
        }
        self.limiter.check_plan(plan).await.map(Some)
    }
}

//! Release and renewal of slots, and settlement of reservations.

use sluicegate::{CheckError, Cost, Plan, Store, Verdict};

use super::RuleLimiter;
use crate::receipts::reservation::{SettleOutcome, Settlement};
use crate::receipts::slot::{self, ReleaseOutcome, RenewOutcome};
use crate::receipts::token::{InvalidReceipt, ReceiptKind, ReceiptToken};

impl<S: Store> RuleLimiter<S> {
    /// Releases the slots of a token from [`Evaluation::slot`](super::Evaluation::slot).
    pub async fn release(
        &self,
        text: &str,
    ) -> Result<Result<ReleaseOutcome, CheckError>, InvalidReceipt> {
        let rules = self.rules.load();
        let held = ReceiptToken::read(ReceiptKind::Slot, text, self.signer(&rules))?;
        let verdict = self.check_if_any(&slot::release(&held, &rules)).await;
        Ok(verdict.map(|verdict| held.released(verdict.as_ref())))
    }

    /// Renews the slots of a token from [`Evaluation::slot`](super::Evaluation::slot).
    ///
    /// Their lease starts again from now.
    pub async fn renew(
        &self,
        text: &str,
    ) -> Result<Result<RenewOutcome, CheckError>, InvalidReceipt> {
        let rules = self.rules.load();
        let held = ReceiptToken::read(ReceiptKind::Slot, text, self.signer(&rules))?;
        let plan = slot::renew(&held, &rules);
        let verdict = self.check_if_any(&plan).await;
        Ok(verdict.map(|verdict| held.renewed(&plan, verdict.as_ref())))
    }

    /// Settles a token from [`Evaluation::reservation`](super::Evaluation::reservation).
    ///
    /// Corrects all its charges to the actual cost, in one step and at most once. An `actual` of 0
    /// refunds them.
    ///
    /// ```
    /// use sluicegate::{Cost, Limiter};
    /// use sluicegate_rules::{Request, RuleSet, RuleLimiter};
    ///
    /// let rules = RuleSet::parse("rules: [{ name: tokens, key: [], limit: 1000/min }]")?;
    /// let gate = RuleLimiter::new(Limiter::in_memory(), rules)?;
    /// let estimate = Request::new().cost(500);
    /// let reserved = gate.check(&estimate, |answer| answer.reservation()).now()?.unwrap();
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
    ) -> Result<Result<SettleOutcome, CheckError>, InvalidReceipt> {
        let rules = self.rules.load();
        let token = ReceiptToken::read(ReceiptKind::Reservation, text, self.signer(&rules))?;
        let settlement = Settlement::new(&token, &rules, actual);
        let verdict = self.check_if_any(&settlement.plan).await;
        Ok(verdict.map(|verdict| settlement.settled(verdict.as_ref())))
    }

    /// Decides a plan, unless it has no checks.
    async fn check_if_any(&self, plan: &Plan<'_>) -> Result<Option<Verdict>, CheckError> {
        if plan.checks().is_empty() {
            return Ok(None);
        }
        self.limiter.check_plan(plan).await.map(Some)
    }
}

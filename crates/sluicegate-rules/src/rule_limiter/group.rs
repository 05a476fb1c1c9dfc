//! Atomic decision of several requests: all are charged, or none.

use sluicegate::{Check, CheckError, Span, Store, Time, Verdict};

use super::{Evaluation, PlannedRequest, RuleEvalContext, RuleLimiter};
use crate::plan::{PlanBuffer, RequestPlan};
use crate::request::Request;
use crate::rule_set::RuleSet;

/// One item of a group that is decided atomically.
#[derive(Debug, Clone, Copy)]
pub enum GroupItem<'r> {
    /// A request that is decided by the rules.
    Rules(Request<'r>),
    /// A check of a limit that the request brings along; no rule applies to it.
    Own(Check<'r>),
}

impl<S: Store> RuleLimiter<S> {
    /// Checks several items atomically: all are charged, or none.
    ///
    /// Calls `respond` with one evaluation for each item, in order. If the caller of one item is on
    /// the block-list or lacks a required identity, the store is not called. With `within`, a store
    /// that has not answered by then counts as unavailable, so that a client with a deadline still
    /// gets the fallback answer of the rules.
    ///
    /// ```
    /// use sluicegate::Limiter;
    /// use sluicegate_rules::{
    ///     AttributeValue, GroupEvaluation, GroupItem, Request, RuleLimiter, RuleSet,
    /// };
    ///
    /// let rules = RuleSet::parse("
    /// identify:
    ///   user: { attribute: user }
    /// rules:
    ///   - { name: reads, match: { attribute: { kind: read } }, key: user, limit: 2/min }
    ///   - { name: writes, match: { attribute: { kind: write } }, key: user, limit: 1/min }
    /// ")?;
    /// let gate = RuleLimiter::new(Limiter::in_memory(), rules)?;
    /// let text = |(name, text)| (name, AttributeValue::Text(text));
    /// let kinds = ["read", "write"].map(|kind| [("user", "42"), ("kind", kind)].map(text));
    /// let parts = [0, 1].map(|kind| GroupItem::Rules(Request::new().attributes(&kinds[kind])));
    /// # futures(async {
    /// for allowed in [[true, true], [true, false]] {
    ///     let answers = |group: &GroupEvaluation<'_>| [0, 1].map(|one| group.parts[one].is_allowed());
    ///     let found = gate.check_group(&parts, None, answers);
    ///     assert_eq!(found.await?, allowed);
    /// }
    /// # Ok(()) }).map_err(|error: sluicegate::CheckError| error)?;
    /// # fn futures<F: Future>(future: F) -> F::Output {
    /// #     let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
    /// #     match std::pin::pin!(future).poll(context) {
    /// #         std::task::Poll::Ready(output) => output,
    /// #         std::task::Poll::Pending => unreachable!(),
    /// #     }
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn check_group<R>(
        &self,
        parts: &[GroupItem<'_>],
        within: Option<Span>,
        respond: impl FnOnce(&GroupEvaluation<'_>) -> R,
    ) -> Result<R, CheckError> {
        match parts {
            [part] => self.check_item(part, within, respond).await,
            // Boxed, so that the future for a single item stays small.
            parts => Box::pin(self.check_items(parts, within, respond)).await,
        }
    }

    async fn check_item<R>(
        &self,
        part: &GroupItem<'_>,
        within: Option<Span>,
        respond: impl FnOnce(&GroupEvaluation<'_>) -> R,
    ) -> Result<R, CheckError> {
        let rules = self.rules.load();
        let mut buffer = PlanBuffer::new();
        let mut planned = self.plan_item(&rules, part, self.now(), &mut buffer);
        planned.planned.answered_within(within);
        let verdict = self.evaluate(&planned).await?;
        let evaluation = planned.evaluation(verdict.as_ref());
        let parts = std::slice::from_ref(&evaluation);
        Ok(respond(&GroupEvaluation { whole: &evaluation, parts }))
    }

    async fn check_items<R>(
        &self,
        parts: &[GroupItem<'_>],
        within: Option<Span>,
        respond: impl FnOnce(&GroupEvaluation<'_>) -> R,
    ) -> Result<R, CheckError> {
        let rules = self.rules.load();
        let (directory, now, signer) = (&self.directory, self.now(), self.signer(&rules));
        let mut buffers: Vec<PlanBuffer> = parts.iter().map(|_| PlanBuffer::new()).collect();
        let items: Vec<PlannedRequest<'_>> = parts
            .iter()
            .zip(&mut buffers)
            .map(|(part, buffer)| self.plan_item(&rules, part, now, buffer))
            .collect();
        let plans: Vec<&RequestPlan<'_>> = items.iter().map(|item| &item.planned).collect();
        let (mut planned, places) = RequestPlan::together(&rules, &plans);
        planned.answered_within(within);
        let whole = PlannedRequest {
            planned,
            context: RuleEvalContext { request: &EMPTY_REQUEST, directory, now, signer },
        };
        let verdict = self.evaluate(&whole).await?;
        let part = |(item, places): (&PlannedRequest<'_>, &Vec<usize>)| {
            Some(verdict.as_ref()?.part(item.plan()?, places))
        };
        let verdicts: Vec<Option<Verdict>> = items.iter().zip(&places).map(part).collect();
        let evaluations: Vec<Evaluation<'_>> = items
            .iter()
            .zip(&verdicts)
            .map(|(item, verdict)| item.evaluation(verdict.as_ref()))
            .collect();
        let whole = &whole.evaluation(verdict.as_ref());
        Ok(respond(&GroupEvaluation { whole, parts: &evaluations }))
    }

    fn plan_item<'a>(
        &'a self,
        rules: &'a RuleSet,
        part: &'a GroupItem<'_>,
        now: Time,
        buffer: &'a mut PlanBuffer,
    ) -> PlannedRequest<'a> {
        match part {
            GroupItem::Rules(request) => self.plan(rules, request, now, buffer),
            GroupItem::Own(check) => {
                let (directory, signer) = (&self.directory, self.signer(rules));
                let context = RuleEvalContext { request: &EMPTY_REQUEST, directory, now, signer };
                PlannedRequest { planned: RequestPlan::of(rules, *check), context }
            }
        }
    }
}

/// The evaluations of items that were decided atomically.
#[derive(Debug)]
pub struct GroupEvaluation<'a> {
    /// The whole group, as if it were one request.
    pub whole: &'a Evaluation<'a>,
    /// Each item by itself, in order: allowed unless it refuses the group.
    pub parts: &'a [Evaluation<'a>],
}

/// The request of an item that has none.
static EMPTY_REQUEST: Request<'static> = Request::new();

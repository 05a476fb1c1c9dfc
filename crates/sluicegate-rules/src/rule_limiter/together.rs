//! Several requests decided in one step: they stand or fall together.

use sluicegate::{Check, CheckError, Plan, Span, Store, Time, Verdict};

use super::{Answered, Asked, Asking, RuleLimiter};
use crate::planning::{Desk, Planned, Purpose};
use crate::request::Request;
use crate::ruleset::RuleSet;

/// One of the things that are asked for in one step.
#[derive(Debug, Clone, Copy)]
pub enum Part<'r> {
    /// What the rules say of a request.
    Rules(Request<'r>, Purpose),
    /// A limit that came with it; no rule is asked.
    Own(Check<'r>),
}

impl<S: Store> RuleLimiter<S> {
    /// Decides several parts in one step, and hands the answers, one for each and in their order, to
    /// whoever has to tell them: all of it is charged, or nothing is.
    ///
    /// Where a caller is on the block-list or does not say who it is, the others are not asked about.
    /// With `within`, a store that has not answered by then is treated as if it were not there, so that
    /// whoever does not wait longer than that still has the answer that the rules want.
    ///
    /// ```
    /// use sluicegate::Limiter;
    /// use sluicegate_rules::{Part, Purpose, Request, RuleSet, RuleLimiter, Value};
    ///
    /// let rules = RuleSet::parse("
    /// identify:
    ///   user: { attribute: user }
    /// rules:
    ///   - { name: reads, match: { attribute: { kind: read } }, key: user, limit: 2/min }
    ///   - { name: writes, match: { attribute: { kind: write } }, key: user, limit: 1/min }
    /// ")?;
    /// let gate = RuleLimiter::new(Limiter::in_memory(), rules)?;
    /// let kinds = ["read", "write"].map(|kind| [("user", Value::Text("42")), ("kind", Value::Text(kind))]);
    /// let parts = [0, 1].map(|kind| Part::Rules(Request::new().attributes(&kinds[kind]), Purpose::Take));
    /// # futures(async {
    /// for allowed in [[true, true], [true, false]] {
    ///     let told = gate.decide_together(&parts, None, |told| [0, 1].map(|one| told.parts[one].is_allowed()));
    ///     assert_eq!(told.await?, allowed);
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
    pub async fn decide_together<R>(
        &self,
        parts: &[Part<'_>],
        within: Option<Span>,
        respond: impl FnOnce(&Together<'_>) -> R,
    ) -> Result<R, CheckError> {
        match parts {
            [part] => self.decide_part(part, within, respond).await,
            // Apart: what waits for one part alone is not to take the room for several.
            parts => Box::pin(self.decide_parts(parts, within, respond)).await,
        }
    }

    async fn decide_part<R>(
        &self,
        part: &Part<'_>,
        within: Option<Span>,
        respond: impl FnOnce(&Together<'_>) -> R,
    ) -> Result<R, CheckError> {
        let rules = self.rules.load();
        let mut desk = Desk::new();
        let mut asking = self.asking_about(&rules, part, self.now(), &mut desk);
        asking.planned.answered_within(within);
        let verdict = self.ask(&asking).await?;
        let answered = asking.answered(verdict.as_ref());
        Ok(respond(&Together { whole: &answered, parts: std::slice::from_ref(&answered) }))
    }

    async fn decide_parts<R>(
        &self,
        parts: &[Part<'_>],
        within: Option<Span>,
        respond: impl FnOnce(&Together<'_>) -> R,
    ) -> Result<R, CheckError> {
        let rules = self.rules.load();
        let (directory, now, pen) = (&self.directory, self.now(), self.pen(&rules));
        let mut desks: Vec<Desk> = parts.iter().map(|_| Desk::new()).collect();
        let asking: Vec<Asking<'_>> = parts
            .iter()
            .zip(&mut desks)
            .map(|(part, desk)| self.asking_about(&rules, part, now, desk))
            .collect();
        let mut planned = Planned::together(&rules, asking.iter().map(|asking| &asking.planned));
        planned.answered_within(within);
        let whole = Asking { planned, asked: Asked { request: &NOBODY, directory, now, pen } };
        let verdict = self.ask(&whole).await?;
        let plans: Vec<Plan<'_>> =
            asking.iter().map(|asking| asking.planned.plan().clone()).collect();
        let verdicts = verdict.as_ref().map(|verdict| verdict.split(&plans)).unwrap_or_default();
        let answered: Vec<Answered<'_>> = asking
            .iter()
            .enumerate()
            .map(|(index, asking)| {
                let asked = asking.plan().is_some();
                asking.answered(verdicts.get(index).filter(|_| asked))
            })
            .collect();
        let whole = &whole.answered(verdict.as_ref());
        Ok(respond(&Together { whole, parts: &answered }))
    }

    fn asking_about<'a>(
        &'a self,
        rules: &'a RuleSet,
        part: &'a Part<'_>,
        now: Time,
        desk: &'a mut Desk,
    ) -> Asking<'a> {
        let (directory, pen) = (&self.directory, self.pen(rules));
        let (request, planned) = match part {
            Part::Rules(request, purpose) => {
                (request, rules.plan_for(*purpose, directory, request, now, desk))
            }
            Part::Own(check) => (&NOBODY, Planned::of(rules, *check)),
        };
        Asking { planned, asked: Asked { request, directory, now, pen } }
    }

    async fn ask(&self, asking: &Asking<'_>) -> Result<Option<Verdict>, CheckError> {
        match asking.plan() {
            Some(plan) => self.limiter.check_plan(plan).await.map(Some),
            None => Ok(None),
        }
    }
}

/// What became of parts that were decided in one step.
#[derive(Debug)]
pub struct Together<'a> {
    /// All of it, as if it were one request.
    pub whole: &'a Answered<'a>,
    /// Each by itself, in their order: allowed if it is not what stands in the way.
    pub parts: &'a [Answered<'a>],
}

/// A request of which nothing is known.
static NOBODY: Request<'static> = Request::new();

//! The verdict on a request: its decisions combined, with the strictest one.

use std::cmp::{Ordering, Reverse};

use sluicegate_core::{Check, Decision, Operation, Refusal, Ruling, Span, Time};
use smallvec::SmallVec;

use crate::plan::{Plan, PlanView};
use crate::store::{Applied, DecidedBy};

/// One decision per check of a plan.
type Decisions = SmallVec<[Option<Decision>; 4]>;

/// The verdict on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    allowed: bool,
    decisions: Decisions,
    strictest: Option<usize>,
    retry_after: Option<Span>,
    delay: Span,
    by: DecidedBy,
    /// Not inline: few plans have shadows, and a verdict is moved about.
    shadows: Vec<ShadowVerdict>,
}

/// The verdict on a shadow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShadowVerdict {
    /// The index of its first check in the plan.
    first: usize,
    allowed: bool,
    by: DecidedBy,
}

/// The decision that determines a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strictest<'a> {
    /// The index of its check in the plan.
    pub check: usize,
    /// The decision.
    pub decision: &'a Decision,
}

impl Verdict {
    /// Creates a verdict with empty decisions, to be [resolved](Self::resolve) later.
    #[inline]
    pub(crate) fn unresolved(checks: usize) -> Self {
        // Filled in place, because a verdict is too large to be copied.
        let mut verdict = Self {
            allowed: false,
            decisions: Decisions::new(),
            strictest: None,
            retry_after: None,
            delay: Span::ZERO,
            by: DecidedBy::Store,
            shadows: Vec::new(),
        };
        verdict.decisions.resize(checks, None);
        verdict
    }

    /// Returns the decisions to fill in.
    pub(crate) fn places(&mut self) -> &mut [Option<Decision>] {
        &mut self.decisions
    }

    /// Creates the verdict on a single check from its decision.
    ///
    /// For decisions of [`try_check_batch`](crate::Limiter::try_check_batch).
    pub fn of_one(check: &Check<'_>, decision: Decision) -> Self {
        let mut verdict = Self::unresolved(0);
        verdict.decisions.push(Some(decision));
        let ruling = if decision.is_allowed() { Ruling::Admitted } else { Ruling::Refused };
        let applied = Applied::by_store(ruling, Time::EPOCH);
        verdict.resolve_required(std::slice::from_ref(check), applied);
        verdict
    }

    /// Combines the decisions; `required` is the outcome of the requirements, `shadows` those of
    /// the shadows.
    ///
    /// A shadow that could not be decided has no decisions.
    pub(crate) fn resolve(
        &mut self,
        plan: PlanView<'_>,
        required: Option<Applied>,
        shadows: impl Iterator<Item = Option<Applied>>,
    ) {
        match required {
            Some(applied) => self.resolve_required(&plan.checks[..plan.required()], applied),
            None => self.allowed = true,
        }
        for (range, outcome) in plan.shadow_ranges().zip(shadows) {
            if outcome.is_none() {
                self.decisions[range.clone()].fill(None);
            }
            let by = outcome.map(|outcome| outcome.by).unwrap_or_default();
            let allowed = outcome.is_none_or(|outcome| outcome.ruling == Ruling::Admitted);
            self.shadows.push(ShadowVerdict { first: range.start, allowed, by });
        }
    }

    /// Combines the decisions on the requirements.
    pub(crate) fn resolve_required(&mut self, checks: &[Check<'_>], applied: Applied) {
        let decisions = &self.decisions[..checks.len()];
        self.allowed = applied.ruling == Ruling::Admitted;
        self.by = applied.by;
        if self.allowed {
            self.strictest = tightest(checks, decisions);
            self.delay = longest_delay(checks, decisions);
        } else {
            self.strictest = blocker(checks, decisions);
            self.retry_after =
                self.strictest.and_then(|index| decisions[index].as_ref()?.retry_after());
        }
    }

    /// Returns the verdict on a plan whose checks are among those of this verdict.
    ///
    /// `places` has the index of each check of the plan. A plan is allowed unless its own
    /// requirements refuse, even if others of this verdict do: then nothing was charged to it
    /// either.
    #[must_use]
    pub fn part(&self, plan: &Plan<'_>, places: &[usize]) -> Self {
        let mut verdict = Self::unresolved(places.len());
        for (own, place) in verdict.decisions.iter_mut().zip(places) {
            *own = self.decisions[*place];
        }
        let plan = plan.view();
        let outcomes: SmallVec<[Applied; 4]> = plan
            .set_ranges()
            .map(|range| {
                let place = places[range.start];
                let refuses = blocker(&plan.checks[range.clone()], &verdict.decisions[range]);
                let stands = self.is_admitted(place) || refuses.is_none();
                let ruling = if stands { Ruling::Admitted } else { Ruling::Refused };
                Applied { ruling, now: Time::EPOCH, by: self.by_of(place) }
            })
            .collect();
        let mut outcomes = outcomes.into_iter();
        let required = if plan.required() > 0 { outcomes.next() } else { None };
        verdict.resolve(plan, required, outcomes.map(Some));
        verdict
    }

    /// Returns the origin of the decision on the requirements.
    pub const fn by(&self) -> DecidedBy {
        self.by
    }

    /// Returns the origin of the decision on a check: that of the set it belongs to.
    pub fn by_of(&self, check: usize) -> DecidedBy {
        self.shadow_of(check).map_or(self.by, |shadow| shadow.by)
    }

    /// Returns whether the set that a check belongs to was admitted.
    pub fn is_admitted(&self, check: usize) -> bool {
        self.shadow_of(check).map_or(self.allowed, |shadow| shadow.allowed)
    }

    fn shadow_of(&self, check: usize) -> Option<&ShadowVerdict> {
        self.shadows.iter().rev().find(|shadow| shadow.first <= check)
    }

    /// Returns whether the request may proceed.
    pub fn is_allowed(&self) -> bool {
        self.allowed
    }

    /// Returns the decisions, one for each check of the plan and in its order.
    ///
    /// `None` for an alternative that was not needed.
    pub fn decisions(&self) -> &[Option<Decision>] {
        &self.decisions
    }

    /// Returns the decision that determines the verdict.
    ///
    /// If refused, the one that blocks the longest; if allowed, the one with the smallest share
    /// left. `None` only for a plan without requirements.
    pub fn strictest(&self) -> Option<Strictest<'_>> {
        let check = self.strictest?;
        Some(Strictest { check, decision: self.decisions[check].as_ref()? })
    }

    /// Returns the time after which a refused request would be admitted, where it is known.
    pub fn retry_after(&self) -> Option<Span> {
        self.retry_after
    }

    /// Returns the delay of an allowed request.
    ///
    /// The longest delay of the checks that admitted it, from their limits and [their
    /// own](Check::delayed).
    pub fn delay(&self) -> Span {
        self.delay
    }
}

fn decided(decisions: &[Option<Decision>]) -> impl Iterator<Item = (usize, &Decision)> {
    decisions.iter().enumerate().filter_map(|(index, decision)| Some((index, decision.as_ref()?)))
}

/// Returns the longest delay of the checks that admitted a request.
///
/// Of each requirement, the check that allows is the one that admits.
fn longest_delay(checks: &[Check<'_>], decisions: &[Option<Decision>]) -> Span {
    let admitted = decided(decisions).filter(|(_, decision)| decision.is_allowed());
    let delays =
        admitted.map(|(index, decision)| decision.delay() + checks[index].delay_if_admitted());
    delays.max().unwrap_or_default()
}

/// Returns the requirement that refuses and blocks the longest.
///
/// Of its alternatives, the one that opens first.
fn blocker(checks: &[Check<'_>], decisions: &[Option<Decision>]) -> Option<usize> {
    let mut blockers: SmallVec<[(usize, Refusal); 4]> = SmallVec::new();
    let mut start = 0;
    for term in checks.chunk_by(|_, next| next.is_alternative()) {
        let range = start..start + term.len();
        start = range.end;
        let made = || decided(&decisions[range.clone()]);
        if made().any(|(_, decision)| decision.is_allowed()) {
            continue;
        }
        let refusals = made().filter_map(|(index, decision)| Some((index, decision.refusal()?)));
        let opens_first = refusals.min_by_key(|(_, refusal)| severity(*refusal));
        blockers.extend(opens_first.map(|(index, refusal)| (range.start + index, refusal)));
    }
    // The first of equals, so that the result depends on the order of the plan alone.
    let longest = blockers.iter().enumerate();
    longest
        .max_by_key(|(order, (_, refusal))| (severity(*refusal), Reverse(*order)))
        .map(|(_, (index, _))| *index)
}

/// Orders refusals: a known time, an unknown one, for ever.
fn severity(refusal: Refusal) -> (u8, Span) {
    match refusal {
        Refusal::Exhausted { retry_after } | Refusal::Blocked { retry_after } => (0, retry_after),
        Refusal::Busy | Refusal::Unreachable => (1, Span::ZERO),
        Refusal::Spent | Refusal::Lost | Refusal::CostAboveLimit => (2, Span::ZERO),
    }
}

/// Returns the allowed decision with the smallest share left.
///
/// Not a rescale: its usage is that before the take that follows it.
fn tightest(checks: &[Check<'_>], decisions: &[Option<Decision>]) -> Option<usize> {
    let tells = |index: usize| matches!(checks[index].operation(), Operation::Rescale { .. });
    let allowed =
        decided(decisions).filter(|(index, decision)| decision.is_allowed() && !tells(*index));
    let tightest = allowed.min_by(|(_, a), (_, b)| by_share_left(a, b));
    let any = || decisions.iter().position(Option::is_some);
    tightest.map(|(index, _)| index).or_else(any)
}

fn by_share_left(a: &Decision, b: &Decision) -> Ordering {
    let share = |this: &Decision, other: &Decision| {
        u128::from(this.remaining()) * u128::from(other.limit())
    };
    share(a, b).cmp(&share(b, a))
}

#[cfg(test)]
mod tests {
    use super::Verdict;
    use crate::{Check, Cost, Limit, Limiter, Plan, Span};

    #[test]
    fn a_check_that_was_decided_alone_has_the_verdict_of_its_plan() {
        let bucket = Limit::token_bucket("bucket", "2/day".parse().unwrap()).unwrap();
        let queue = Limit::queue("queue", "2/day".parse().unwrap()).unwrap();
        let log = Limit::sliding_log("log", "2/day".parse().unwrap()).unwrap();
        for limit in [&bucket, &queue, &log] {
            let (alone, planned) = (Limiter::in_memory(), Limiter::in_memory());
            let check = Check::new(limit, "key");
            for check in [
                check,
                check.delayed(Span::from_secs(5)),
                check,
                check.delayed(Span::from_secs(5)),
                check.cost(Cost::from(3)),
                check.cost(Cost::ZERO),
            ] {
                let mut plan = Plan::new();
                plan.require(check);
                let planned = planned.check_plan(&plan).now().unwrap();
                let verdict = Verdict::of_one(&check, alone.check(check).now().unwrap());
                assert_eq!(verdict.is_allowed(), planned.is_allowed(), "{check:?}");
                let index = |verdict: &Verdict| verdict.strictest().map(|made| made.check);
                assert_eq!(index(&verdict), index(&planned), "{check:?}");
                assert_eq!(verdict.by(), planned.by(), "{check:?}");
                // Evaluated one after the other, while time passes.
                let seconds = |span: Span| span.as_secs_ceil();
                assert_eq!(seconds(verdict.delay()), seconds(planned.delay()), "{check:?}");
                let wait = |verdict: &Verdict| verdict.retry_after().map(seconds);
                assert_eq!(wait(&verdict), wait(&planned), "{check:?}");
            }
        }
    }
}

//! A store whose decisions are all written down: around any other, which decides as ever.

mod entries;
mod recorder;
#[cfg(test)]
mod tests;

use sluicegate::{Applied, CheckError, Clock, Immediate, Limiter, Store};
use sluicegate_core::{Check, Decision, Ruling, Set, Span, Time};

pub use self::recorder::Recorder;

/// How long after nobody waits for it any more a request may still reach a store.
const MAY_ARRIVE_WITHIN: Span = Span::from_secs(1);

/// A store whose decisions are all written down.
///
/// It stands between a limiter and the store that decides, and changes no answer. Each decision
/// becomes an entry of a trace; what became of a request whose caller went away before the answer
/// came, nobody knows, so it becomes a gap.
///
/// ```
/// use sluicegate::{Check, Limit, Limiter};
/// use sluicegate_audit::{Header, Recorder, Trace, Traced};
///
/// let trace = Trace::to(std::io::sink(), &Header::default())?;
/// let recorder = Recorder::new(trace.clone(), "a", [7; 32]);
/// let limiter = Limiter::new(Traced::new(Limiter::in_memory(), recorder));
/// let limit = Limit::token_bucket("api", "10/s".parse()?)?;
/// assert!(limiter.check(Check::new(&limit, "user:42")).now()?.is_allowed());
/// assert_eq!(trace.finish()?.entries, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Traced<S> {
    deciding: Limiter<S>,
    recorder: Recorder,
}

impl<S: Store> Traced<S> {
    /// The store of this limiter, whose decisions `recorder` writes down.
    pub fn new(deciding: Limiter<S>, recorder: Recorder) -> Self {
        Self { deciding, recorder }
    }

    /// The store that decides.
    pub fn store(&self) -> &S {
        self.deciding.store()
    }

    /// From now on until it is answered, requests are on their way.
    fn on_the_way(&self) -> OnTheWay<'_, S> {
        OnTheWay { traced: self, asked_at: self.clock().now(), is_open: true }
    }

    fn record(
        &self,
        set: &Set<'_>,
        decisions: &[Option<Decision>],
        applied: Applied,
        asked_at: Time,
    ) {
        let waited = self.clock().now().since(asked_at);
        self.recorder.record(set, decisions, applied, waited);
    }
}

/// Requests that are on their way. If nobody waits for the answer any more, or it does not come,
/// they may have been charged all the same.
struct OnTheWay<'a, S: Store> {
    traced: &'a Traced<S>,
    asked_at: Time,
    is_open: bool,
}

impl<S: Store> Drop for OnTheWay<'_, S> {
    fn drop(&mut self) {
        if self.is_open {
            let until = self.traced.clock().now() + MAY_ARRIVE_WITHIN;
            self.traced.recorder.lose(self.asked_at, until);
        }
    }
}

impl<S: Store> Store for Traced<S> {
    const TOGETHER: usize = S::TOGETHER;

    type Clock = S::Clock;

    fn clock(&self) -> &S::Clock {
        self.store().clock()
    }

    async fn apply<'a>(
        &'a self,
        set: &'a Set<'a>,
        decisions: &'a mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        let mut on_the_way = self.on_the_way();
        let applied = self.store().apply(set, decisions).await?;
        on_the_way.is_open = false;
        self.record(set, decisions, applied, on_the_way.asked_at);
        Ok(applied)
    }

    fn apply_at_once(&self, set: &Set<'_>, decisions: &mut [Option<Decision>]) -> Option<Applied> {
        let asked_at = self.clock().now();
        let applied = self.store().apply_at_once(set, decisions)?;
        self.record(set, decisions, applied, asked_at);
        Some(applied)
    }

    fn apply_one_at_once(&self, set: &Set<'_>) -> Option<(Applied, Decision)> {
        let asked_at = self.clock().now();
        let (applied, decision) = self.store().apply_one_at_once(set)?;
        self.record(set, &[Some(decision)], applied, asked_at);
        Some((applied, decision))
    }

    /// One by one: what decides many at a time does not tell when each was decided.
    fn apply_each_at_once(&self, sets: &[Set<'_>], decisions: &mut Vec<Decision>) -> usize {
        let before = decisions.len();
        for set in sets {
            let mut own = [None];
            match (self.apply_at_once(set, &mut own).map(|applied| applied.ruling), own) {
                (Some(Ruling::Admitted | Ruling::Refused), [Some(decision)]) => {
                    decisions.push(decision);
                }
                _ => break,
            }
        }
        decisions.len() - before
    }

    async fn apply_many<'a>(
        &'a self,
        sets: &'a [Set<'a>],
        decisions: &'a mut [Option<Decision>],
        applied: &'a mut Vec<Applied>,
    ) -> Result<(), CheckError> {
        let before = applied.len();
        let mut on_the_way = self.on_the_way();
        let done = self.store().apply_many(sets, decisions, applied).await;
        // Those that were not decided, if any, may have been on their way.
        on_the_way.is_open = done.is_err();
        let mut rest = &*decisions;
        for (set, applied) in sets.iter().zip(applied.iter().skip(before)) {
            let Some((own, after)) = rest.split_at_checked(set.checks().len()) else { break };
            self.record(set, own, *applied, on_the_way.asked_at);
            rest = after;
        }
        done
    }

    /// Nobody waits for the answer, so nobody knows what became of it.
    fn apply_detached(&self, check: Check<'_>) {
        let on_the_way = self.on_the_way();
        self.store().apply_detached(check);
        drop(on_the_way);
    }
}

impl<S: Immediate> Immediate for Traced<S> {}

//! A store that records the decisions of another store in a trace.

mod entry_builder;
mod recorder;
#[cfg(test)]
mod tests;

use sluicegate::{Applied, Batch, CheckError, Clock, Limiter, Store, SyncStore};
use sluicegate_core::{Check, Decision, Set, Span, Time};

pub use self::recorder::Recorder;

/// The longest time a request takes to reach a store after its caller gave up.
const MAY_ARRIVE_WITHIN: Span = Span::from_secs(1);

/// A store that records the decisions of another store in a trace.
///
/// It forwards every call and changes no decision. Each decision becomes an entry of the trace; a
/// request whose caller gave up before the answer has an unknown outcome, so it becomes a gap.
///
/// ```
/// use sluicegate::{Check, Limit, Limiter};
/// use sluicegate_audit::{TraceHeader, Recorder, TraceWriter, RecordingStore};
///
/// let trace = TraceWriter::to(std::io::sink(), &TraceHeader::default())?;
/// let recorder = Recorder::new(trace.clone(), "a", [7; 32]);
/// let limiter = Limiter::new(RecordingStore::new(Limiter::in_memory(), recorder));
/// let limit = Limit::token_bucket("api", "10/s".parse()?)?;
/// assert!(limiter.check(Check::new(&limit, "user:42")).now()?.is_allowed());
/// assert_eq!(trace.finish()?.entries, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RecordingStore<S> {
    inner: Limiter<S>,
    recorder: Recorder,
}

impl<S: Store> RecordingStore<S> {
    /// Wraps the store of this limiter, with a recorder for its decisions.
    pub fn new(inner: Limiter<S>, recorder: Recorder) -> Self {
        Self { inner, recorder }
    }

    /// Returns the wrapped store.
    pub fn store(&self) -> &S {
        self.inner.store()
    }

    /// Marks requests as in flight until they are answered.
    fn in_flight(&self) -> InFlightGuard<'_, S> {
        InFlightGuard { traced: self, asked_at: self.clock().now(), is_open: true }
    }

    /// Records the sets of a batch but the first ones, which were decided earlier.
    fn record(&self, batch: &Batch<'_>, before: usize, asked_at: Time) {
        if batch.applied().len() == before {
            return;
        }
        let waited = self.clock().now().since(asked_at);
        for (set, decisions, applied) in batch.decided().skip(before) {
            self.recorder.record(set, decisions, applied, waited);
        }
    }
}

/// Requests in flight. If the caller gives up, or no answer comes, they may have been charged
/// nevertheless.
struct InFlightGuard<'a, S: Store> {
    traced: &'a RecordingStore<S>,
    asked_at: Time,
    is_open: bool,
}

impl<S: Store> Drop for InFlightGuard<'_, S> {
    fn drop(&mut self) {
        if self.is_open {
            let until = self.traced.clock().now() + MAY_ARRIVE_WITHIN;
            self.traced.recorder.lose(self.asked_at, until);
        }
    }
}

impl<S: Store> Store for RecordingStore<S> {
    const BATCH: usize = S::BATCH;

    type Clock = S::Clock;

    fn clock(&self) -> &S::Clock {
        self.store().clock()
    }

    async fn apply(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        let before = batch.applied().len();
        let mut in_flight = self.in_flight();
        let done = self.store().apply(batch).await;
        // Undecided requests, if any, may have been in flight.
        in_flight.is_open = done.is_err();
        self.record(batch, before, in_flight.asked_at);
        done
    }

    fn try_apply(&self, batch: &mut Batch<'_>) {
        let (before, asked_at) = (batch.applied().len(), self.clock().now());
        self.store().try_apply(batch);
        self.record(batch, before, asked_at);
    }

    fn try_apply_one(&self, set: &Set<'_>) -> Option<(Applied, Decision)> {
        let asked_at = self.clock().now();
        let (applied, decision) = self.store().try_apply_one(set)?;
        let waited = self.clock().now().since(asked_at);
        self.recorder.record(set, &[Some(decision)], applied, waited);
        Some((applied, decision))
    }

    /// The result is not returned, so the outcome is unknown.
    fn apply_detached(&self, check: Check<'_>) {
        let in_flight = self.in_flight();
        self.store().apply_detached(check);
        drop(in_flight);
    }
}

impl<S: SyncStore> SyncStore for RecordingStore<S> {}

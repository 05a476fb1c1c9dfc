//! Batches requests to one server and returns the answers, never later than the deadline.
//!
//! One or two calls are in flight at a time. Requests that arrive meanwhile are queued and go out
//! together as one call when one of them returns, so batches grow with the load, and without load
//! no request waits. When a call is not answered in time, all waiting requests are released and the
//! server is not used until it has recovered (a circuit breaker); no request is kept to be sent
//! later.
//!
//! The deadline is that of a call to the server. A queued request keeps waiting while the server
//! answers calls: a long queue is load, not an outage.

// Long because sending, deadlines and failures of a call change one shared state.

mod active_connection;
mod call_group;
mod queue;
mod request;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use sluicegate_core::Time;
use smallvec::SmallVec;
use tokio::sync::{Notify, oneshot};
use tokio::task::yield_now;

use self::active_connection::ActiveConnection;
use self::call_group::{CallGroup, send};
pub(crate) use self::queue::BULK;
use self::queue::{QueuedBatch, RequestQueue};
pub(crate) use self::request::QueuedRequest;
use crate::error::{ErrorKind, ServerError};
use crate::script::{EncodedSet, ScriptRef, ScriptRuling, SetReply};
use crate::store_context::StoreContext;

/// The answers to the sets of one caller.
#[derive(Debug)]
pub(crate) struct BatchReply {
    /// One for each set.
    pub(crate) answers: SmallVec<[SetReply; 1]>,
    /// When the call was sent, by this machine's clock.
    pub(crate) sent: Time,
    /// When the answer arrived, by this machine's clock.
    pub(crate) received: Time,
    /// Whether a replica has confirmed the write, where one is required.
    pub(crate) confirmed: bool,
}

/// The error of a request, with its sets if nothing was done.
#[derive(Debug)]
pub(crate) struct RejectedSets {
    pub(crate) failure: ServerError,
    /// The sets, if nothing of them was applied.
    pub(crate) sets: Vec<EncodedSet>,
}

pub(crate) type BatchResult = Result<BatchReply, RejectedSets>;

impl From<ServerError> for RejectedSets {
    fn from(failure: ServerError) -> Self {
        Self { failure, sets: Vec::new() }
    }
}

/// Batches requests to one server.
#[derive(Debug)]
pub(crate) struct Batcher {
    queue: Mutex<RequestQueue>,
    context: Arc<StoreContext>,
    /// Whether the store's clock follows this server.
    is_clock_source: AtomicBool,
    /// Whether a replica has to confirm every write. `WAIT` then blocks the connection, so that no
    /// other call can use it meanwhile.
    strict: bool,
    /// Whether requests for several slots may share one call.
    cross_slot: Arc<AtomicBool>,
    /// Wakes the supervisor of the connection.
    pub(crate) wake_supervisor: Arc<Notify>,
}

impl Batcher {
    pub(crate) fn new(context: &Arc<StoreContext>) -> Self {
        let down = ServerError::new(ErrorKind::Down, "not connected yet");
        let queue = Mutex::new(RequestQueue::new(down, queue::MAX_CALLS));
        Self {
            queue,
            context: Arc::clone(context),
            is_clock_source: AtomicBool::new(true),
            strict: false,
            cross_slot: Arc::default(),
            wake_supervisor: Arc::default(),
        }
    }

    /// A second batcher for the same server that issues `WAIT` after each call. Both share one
    /// supervisor.
    pub(crate) fn strict(&self) -> Self {
        let down = ServerError::new(ErrorKind::Down, "not connected yet");
        let queue = Mutex::new(RequestQueue::new(down, queue::MAX_STRICT_CALLS));
        Self {
            queue,
            context: Arc::clone(&self.context),
            is_clock_source: AtomicBool::new(false),
            strict: true,
            cross_slot: Arc::clone(&self.cross_slot),
            wake_supervisor: Arc::clone(&self.wake_supervisor),
        }
    }

    /// Sets whether the server handles calls correctly that write to several slots.
    pub(crate) fn set_cross_slot(&self, cross_slot: bool) {
        self.cross_slot.store(cross_slot, Ordering::Relaxed);
    }

    /// Sets whether the store's clock follows this server.
    pub(crate) fn set_clock_source(&self, is_source: bool) {
        self.is_clock_source.store(is_source, Ordering::Relaxed);
    }

    /// Passes the server's time, received just now, to the store's clock.
    pub(crate) fn observe_time(&self, now: Time, received: Time) {
        if self.is_clock_source.load(Ordering::Relaxed) {
            self.context.clock.observe(now, received);
        }
    }

    /// Sends the sets of a request in their order and waits for the answers.
    pub(crate) async fn submit(self: &Arc<Self>, request: QueuedRequest) -> BatchResult {
        let (sender, mut receiver) = oneshot::channel();
        let (enqueued, until) = (self.context.now(), request.until);
        let number = self.enqueue(request.with_sender(sender))?;
        let mut next = enqueued + self.context.deadline;
        loop {
            let wake_at = next.min(until);
            if let Some(outcome) = self.context.in_time(wake_at, &mut receiver).await {
                return outcome.unwrap_or_else(|_| {
                    let why = "the tokio runtime of the store has shut down";
                    Err(ServerError::new(ErrorKind::Connection, why).into())
                });
            }
            // The server answers other calls: this request waits for its turn.
            let deadline = self.queue().last_answer().map(|last| last + self.context.deadline);
            match deadline {
                Some(deadline) if deadline > wake_at && wake_at < until => next = deadline,
                // The call that has the request determines whether the server is down or only slow.
                deadline => {
                    let class = if self.queue().remove(number) {
                        ErrorKind::Overload
                    } else if deadline > Some(wake_at) {
                        ErrorKind::Late
                    } else {
                        ErrorKind::Timeout
                    };
                    let failure =
                        unanswered(class, self.context.now().saturating_duration_since(enqueued));
                    self.context.count(&failure);
                    return Err(failure.into());
                }
            }
        }
    }

    /// Whether an answer that took so long is within the deadline.
    pub(crate) fn is_in_time(&self, took: Duration) -> bool {
        took <= self.context.deadline
    }

    /// Enqueues a request and returns its number, starting a worker if none will take it.
    fn enqueue(self: &Arc<Self>, request: QueuedRequest) -> Result<u64, ServerError> {
        let enqueued = self.queue().enqueue(request);
        match enqueued {
            Ok((number, None)) => Ok(number),
            Ok((number, Some(active))) => {
                let batcher = Arc::clone(self);
                self.context.runtime.spawn(async move {
                    let guard = AbortGuard { batcher: &batcher, generation: active.generation };
                    batcher.run_worker(active).await;
                    std::mem::forget(guard);
                });
                Ok(number)
            }
            Err(failure) => {
                self.context.count(&failure);
                Err(failure)
            }
        }
    }

    /// Returns why the server is not used, if it is not.
    pub(crate) fn why_down(&self) -> Option<ServerError> {
        self.queue().why_down().cloned()
    }

    /// Starts using the server over this connection.
    pub(crate) fn open(&self, connection: MultiplexedConnection) {
        self.queue().open(connection, self.context.now());
    }

    /// Stops using the server, whichever connection is active, and releases all waiting requests.
    pub(crate) fn fail_all(&self, failure: &ServerError) {
        let active = self.queue().active();
        if let Some(active) = active {
            self.close_generation(active.generation, failure);
        } else {
            self.queue().replace_reason(failure);
        }
    }

    fn close_generation(&self, generation: u64, failure: &ServerError) {
        let Some(waiting) = self.queue().close(generation, failure) else { return };
        self.context.counters.breaker_opened.one();
        self.wake_supervisor.notify_one();
        for request in waiting {
            request.fail(&ServerError::new(ErrorKind::Down, failure.why.clone()));
        }
    }

    /// Sends batches until the queue is empty.
    async fn run_worker(&self, mut active: ActiveConnection) {
        let mut completed = 0;
        loop {
            // Callers that were just answered, or arrived at the same time, may send more: yielding
            // to the scheduler lets them enqueue, so that all of it goes out as one batch.
            yield_now().await;
            let next = self.queue().next(active.generation, completed, self.context.now());
            for late in next.late {
                late.fail(&ServerError::new(
                    ErrorKind::Overload,
                    "too many requests were waiting for the store",
                ));
                self.context.counters.overloads.one();
            }
            let Some(QueuedBatch { requests, checks }) = next.batch else { return };
            completed = checks;
            let sent = self.context.clock.machine();
            let mut groups = CallGroup::of_all(requests, self.cross_slot.load(Ordering::Relaxed));
            match self.send_batch(&mut groups, &mut active, checks).await {
                Ok(confirmed) => {
                    for group in groups {
                        self.return_answers(group, sent, active.generation, confirmed);
                    }
                }
                Err(failure) => {
                    self.context.count(&failure);
                    if failure.class.marks_server_down() {
                        self.close_generation(active.generation, &failure);
                    }
                    for request in groups.into_iter().flat_map(|group| group.requests) {
                        request.fail(&failure);
                    }
                }
            }
        }
    }

    /// Sends the calls of one batch. Returns whether a replica has confirmed, where one has to.
    async fn send_batch(
        &self,
        groups: &mut [CallGroup],
        active: &mut ActiveConnection,
        checks: usize,
    ) -> Result<bool, ServerError> {
        let size = u32::try_from(checks.div_ceil(queue::MAX_CHECKS).max(1)).unwrap_or(u32::MAX);
        // Each caller has its own deadline; this one decides whether the server is down.
        let deadline = self.context.deadline * size;
        let until = self.context.now() + deadline;
        let calls = u64::try_from(groups.len()).unwrap_or(u64::MAX);
        // Read before the calls are counted: a test that sees them in flight knows their time.
        let now = self.context.clock.driven();
        let counters = &self.context.counters;
        counters.calls.add(calls);
        counters.in_flight.add(calls);
        let broken = Arc::clone(&active.broken);
        let broken = broken.notified();
        let answer = tokio::select! {
            biased;
            answer = self.context.in_time(until, self.send_calls(groups, active, now)) => answer,
            // The call was sent, and may still be executed.
            () = broken => Some(Err(ServerError::new(ErrorKind::Timeout, "its connection was closed"))),
        };
        counters.in_flight.sub(calls);
        if matches!(answer, Some(Ok(_))) {
            self.queue().note_answer(active.generation, self.context.now());
        }
        answer.unwrap_or_else(|| Err(unanswered(ErrorKind::Timeout, deadline)))
    }

    /// Sends calls by the digest of their scripts, and in full if the server lacks one.
    async fn send_calls(
        &self,
        groups: &mut [CallGroup],
        active: &mut ActiveConnection,
        now: Option<Time>,
    ) -> Result<bool, ServerError> {
        let connection = &mut active.connection;
        self.queue().tag_all(groups);
        send(connection, groups, now).await?;
        if groups.iter().any(CallGroup::lacks_script) {
            // The server has lost its scripts and executed nothing, so this is no second execution.
            self.context.counters.no_script.one();
            for group in &mut *groups {
                group.script_ref = ScriptRef::Text;
            }
            send(connection, groups, now).await?;
        }
        if !self.strict {
            return Ok(true);
        }
        // The calls have been answered, so a failure here does not affect their results.
        Ok(self.confirm(connection).await.unwrap_or_else(|failure| {
            self.context.count(&failure);
            if failure.class.marks_server_down() {
                self.close_generation(active.generation, &failure);
            }
            false
        }))
    }

    /// Whether a replica confirms in time what was written over a connection.
    async fn confirm(&self, connection: &mut MultiplexedConnection) -> Result<bool, ServerError> {
        // The server gives up before we do, because a connection that still waits blocks other
        // calls.
        let millis = (self.context.deadline.as_millis() / 2).max(1);
        let mut wait = redis::cmd("WAIT");
        wait.arg(1).arg(u64::try_from(millis).unwrap_or(u64::MAX));
        Ok(wait.query_async::<u64>(connection).await? > 0)
    }

    /// Returns the answers to the callers.
    fn return_answers(&self, group: CallGroup, sent: Time, generation: u64, confirmed: bool) {
        let CallGroup { mut requests, call, tag, reply, .. } = group;
        let nothing_done = |class| matches!(class, ErrorKind::ReadOnly | ErrorKind::ClusterDown);
        if call.is_cross_slot() && reply.as_ref().is_err_and(|failure| nothing_done(failure.class))
        {
            // Nothing was executed. Sending each slot by itself returns the redirect of each slot.
            requests.iter_mut().for_each(QueuedRequest::keep_to_slot);
            self.queue().requeue(requests, generation);
            return;
        }
        let answers = reply.and_then(|reply| {
            call.read(tag, reply)
                .map_err(|error| ServerError::new(ErrorKind::Strange, error.to_string()))
        });
        let answers = match answers {
            Ok(answers) => answers,
            Err(failure) => {
                self.context.count(&failure);
                if failure.class.marks_server_down() {
                    self.close_generation(generation, &failure);
                }
                for request in requests {
                    request.fail(&failure);
                }
                return;
            }
        };
        let received = self.context.clock.machine();
        if let Some(first) = answers.first() {
            self.observe_time(first.now, received);
        }
        self.context.counters.sets.add(answers.len() as u64);
        let mut answers = answers.into_iter();
        let mut retry = Vec::new();
        for mut request in requests {
            if request.take(&mut answers, sent) {
                request.finish(received, confirmed);
            } else {
                retry.push(request);
            }
        }
        if !retry.is_empty() {
            self.queue().requeue(retry, generation);
        }
    }

    fn queue(&self) -> MutexGuard<'_, RequestQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the connection if a worker is dropped before it finishes. Its runtime is gone then, and
/// the requests that wait for it would never be answered.
struct AbortGuard<'a> {
    batcher: &'a Batcher,
    generation: u64,
}

impl Drop for AbortGuard<'_> {
    fn drop(&mut self) {
        let failure =
            ServerError::new(ErrorKind::Connection, "the tokio runtime of the store has shut down");
        self.batcher.close_generation(self.generation, &failure);
    }
}

fn unanswered(class: ErrorKind, waited: Duration) -> ServerError {
    let waited = waited.as_millis();
    ServerError::new(
        class,
        match class {
            ErrorKind::Overload => {
                format!("not sent within {waited} ms, because other requests were queued before it")
            }
            ErrorKind::Late => {
                format!("no answer within {waited} ms, although the store answered other calls")
            }
            _ => format!("no answer within {waited} ms"),
        },
    )
}

/// Whether a set has to be sent retry with the full script.
fn needs_full_script(answer: &SetReply) -> bool {
    matches!(answer.ruling, ScriptRuling::NotPlain)
}

//! The queue of one server: waiting requests, and the connection that is used for them.

use std::collections::VecDeque;
use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::active_connection::ActiveConnection;
use super::call_group::CallGroup;
use super::request::QueuedRequest;
use crate::error::{ErrorKind, ServerError};
use crate::script::{Script, ScriptRef};

/// Calls in flight at a time. Two keep the server busy while answers travel; more would only make
/// the batches smaller.
pub(super) const MAX_CALLS: usize = 2;
/// With replicas to wait for there is one, because a second call would wait for the first.
pub(super) const MAX_STRICT_CALLS: usize = 1;
/// The most checks in one call, because the server does nothing else while it runs.
pub(super) const MAX_CHECKS: usize = 64;
/// With fewer checks in flight the load is negligible, and requests are sent without batching.
const LIGHT_LOAD: usize = 8;
/// The batch size worth a second call: smaller batches wait for the call in flight.
const FULL_BATCH: usize = 32;
/// The most requests that may wait. Beyond that the last one would time out in any case.
const MAX_WAITING: usize = 4_096;
/// A request with more checks is bulk (a batch or a pipeline) and yields to single requests.
pub(crate) const BULK: usize = 8;

/// The waiting requests of one server, and the connection they use.
#[derive(Debug)]
pub(super) struct RequestQueue {
    active: Result<ActiveConnection, ServerError>,
    waiting: VecDeque<QueuedRequest>,
    /// Batches and pipelines, kept apart so that single requests do not queue behind them.
    bulk: VecDeque<QueuedRequest>,
    /// Whether the last call had no room for waiting bulk; the next one starts with it then.
    bulk_is_next: bool,
    /// When the server last answered over this connection.
    answered: Instant,
    /// Calls in flight over this connection, and the checks in them.
    calls: usize,
    in_flight: usize,
    generation: u64,
    tag: u64,
    /// Number of requests that were enqueued.
    enqueued: u64,
    /// The scripts that were sent in full over this connection.
    sent_scripts: Vec<&'static Script>,
    max_calls: usize,
}

/// The work of a worker after a call.
pub(super) struct NextBatch {
    /// Requests whose time is up.
    pub(super) late: Vec<QueuedRequest>,
    pub(super) batch: Option<QueuedBatch>,
}

/// Requests that go out in one batch.
pub(super) struct QueuedBatch {
    pub(super) requests: Vec<QueuedRequest>,
    pub(super) checks: usize,
}

impl QueuedBatch {
    /// Moves requests here from the front of a queue, as many as there is room for. Drops a request
    /// whose caller has gone.
    fn fill(&mut self, waiting: &mut VecDeque<QueuedRequest>) {
        while let Some(request) = waiting.pop_front() {
            let checks = self.checks + request.checks();
            // A request that is too large by itself is sent all the same, alone.
            if checks > MAX_CHECKS && !self.requests.is_empty() {
                waiting.push_front(request);
                break;
            }
            if request.is_wanted() {
                self.checks = checks;
                self.requests.push(request);
            }
        }
    }
}

impl RequestQueue {
    pub(super) fn new(why: ServerError, max_calls: usize) -> Self {
        Self {
            active: Err(why),
            waiting: VecDeque::new(),
            bulk: VecDeque::new(),
            bulk_is_next: false,
            answered: Instant::now(),
            calls: 0,
            in_flight: 0,
            generation: 0,
            tag: 0,
            enqueued: 0,
            sent_scripts: vec![],
            max_calls,
        }
    }

    /// Enqueues and numbers a request. Returns the connection if the caller has to start a worker.
    pub(super) fn enqueue(
        &mut self,
        mut request: QueuedRequest,
    ) -> Result<(u64, Option<ActiveConnection>), ServerError> {
        let active = match &self.active {
            Ok(active) => active,
            Err(why) => return Err(ServerError::new(ErrorKind::Down, why.why.clone())),
        };
        if self.waiting.len() + self.bulk.len() >= MAX_WAITING {
            return Err(ServerError::new(
                ErrorKind::Overload,
                "too many requests were waiting for the store",
            ));
        }
        let active = active.clone();
        self.enqueued += 1;
        request.number = self.enqueued;
        if request.checks() > BULK { &mut self.bulk } else { &mut self.waiting }.push_back(request);
        if self.calls >= self.max_calls || !self.is_worth_a_call() {
            return Ok((self.enqueued, None));
        }
        self.calls += 1;
        Ok((self.enqueued, Some(active)))
    }

    /// Removes a request. Returns whether it was still queued and no part of it had been sent.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        let is_untouched = |request: &QueuedRequest| request.answers.iter().all(Option::is_none);
        for waiting in [&mut self.waiting, &mut self.bulk] {
            if let Some(place) = waiting.iter().position(|request| request.number == number) {
                return waiting.remove(place).is_some_and(|request| is_untouched(&request));
            }
        }
        false
    }

    /// Whether the waiting requests should go out beside the calls in flight.
    fn is_worth_a_call(&self) -> bool {
        let waiting =
            self.waiting.iter().chain(&self.bulk).take(FULL_BATCH).map(QueuedRequest::checks);
        self.in_flight < LIGHT_LOAD || waiting.sum::<usize>() >= FULL_BATCH
    }

    /// Takes the requests that fit into one call: single requests before bulk, each in their order,
    /// and alternating where there is no room for both.
    fn batch(&mut self) -> QueuedBatch {
        let most = (self.waiting.len() + self.bulk.len()).min(MAX_CHECKS);
        let mut batch = QueuedBatch { requests: Vec::with_capacity(most), checks: 0 };
        let (first, second) = if self.bulk_is_next {
            (&mut self.bulk, &mut self.waiting)
        } else {
            (&mut self.waiting, &mut self.bulk)
        };
        batch.fill(first);
        let filled = batch.checks;
        batch.fill(second);
        let skipped = batch.checks == filled && !second.is_empty();
        self.bulk_is_next = skipped && !self.bulk_is_next;
        batch
    }

    /// Returns the worker's next batch; `completed` is the number of checks in the one it just
    /// finished.
    pub(super) fn next(&mut self, generation: u64, completed: usize, now: Instant) -> NextBatch {
        let mut next = NextBatch { late: Vec::new(), batch: None };
        if self.active.as_ref().map(|active| active.generation).ok() != Some(generation) {
            return next;
        }
        self.in_flight -= completed;
        for waiting in [&mut self.waiting, &mut self.bulk] {
            while waiting.front().is_some_and(|request| request.until <= now) {
                next.late.extend(waiting.pop_front());
            }
        }
        if self.is_worth_a_call() {
            next.batch = Some(self.batch()).filter(|batch| !batch.requests.is_empty());
        }
        match &next.batch {
            Some(batch) => self.in_flight += batch.checks,
            None => self.calls -= 1,
        }
        next
    }

    /// Puts requests back that have to be sent again.
    pub(super) fn requeue(&mut self, requests: Vec<QueuedRequest>, generation: u64) {
        match &self.active {
            Ok(active) if active.generation == generation => {
                for request in requests.into_iter().rev() {
                    self.waiting.push_front(request);
                }
            }
            _ => {
                for request in requests {
                    // A partially answered request has been partially executed.
                    let begun = request.answers.iter().any(Option::is_some);
                    let class = if begun { ErrorKind::Timeout } else { ErrorKind::Down };
                    request.fail(&ServerError::new(
                        class,
                        "the connection was given up before a retry",
                    ));
                }
            }
        }
    }

    pub(super) fn open(&mut self, connection: MultiplexedConnection, now: Instant) {
        self.generation += 1;
        self.calls = 0;
        self.in_flight = 0;
        self.answered = now;
        self.sent_scripts.clear();
        self.active = Ok(ActiveConnection {
            connection,
            generation: self.generation,
            broken: Arc::new(Notify::new()),
        });
    }

    /// Closes the connection of this generation. Returns the waiting requests, if it was open.
    pub(super) fn close(
        &mut self,
        generation: u64,
        why: &ServerError,
    ) -> Option<VecDeque<QueuedRequest>> {
        match &self.active {
            Ok(active) if active.generation == generation => {
                active.broken.notify_waiters();
                self.active = Err(why.clone());
                let mut waiting = std::mem::take(&mut self.waiting);
                waiting.append(&mut self.bulk);
                Some(waiting)
            }
            _ => None,
        }
    }

    /// Records that the server answered over the connection of this generation.
    pub(super) fn note_answer(&mut self, generation: u64, now: Instant) {
        if self.active.as_ref().is_ok_and(|active| active.generation == generation) {
            self.answered = now;
        }
    }

    /// When the server last answered, if the connection is open.
    pub(super) fn last_answer(&self) -> Option<Instant> {
        self.active.is_ok().then_some(self.answered)
    }

    /// Replaces the reason why the connection is closed, if it is.
    pub(super) fn replace_reason(&mut self, why: &ServerError) {
        if let Err(known) = &mut self.active {
            *known = why.clone();
        }
    }

    pub(super) fn active(&self) -> Option<ActiveConnection> {
        self.active.as_ref().ok().cloned()
    }

    pub(super) fn why_down(&self) -> Option<&ServerError> {
        self.active.as_ref().err()
    }

    /// Gives each call a tag of its own. The first call of each script sends its text: the server
    /// may not have it, and a retry after NOSCRIPT would execute after calls that were sent later.
    pub(super) fn tag_all(&mut self, groups: &mut [CallGroup]) {
        for group in groups {
            self.tag += 1;
            group.tag = self.tag;
            let script = group.call.script();
            if self.sent_scripts.iter().any(|known| std::ptr::eq(*known, script)) {
                group.script_ref = ScriptRef::Sha;
            } else {
                self.sent_scripts.push(script);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sluicegate_core::{ChargeId, Check, Limit, Set};
    use smallvec::SmallVec;

    use super::*;
    use crate::script::{EncodedSet, KeySpace};

    fn request(checks: usize) -> QueuedRequest {
        let limit = Limit::token_bucket("api", "5/min".parse().unwrap()).unwrap();
        let keys: Vec<String> = (0..checks).map(|number| number.to_string()).collect();
        let checks: Vec<_> = keys.iter().map(|key| Check::new(&limit, key)).collect();
        let set = Set::all(&checks, ChargeId::from_bits(1));
        let packed = EncodedSet::new(&set, &KeySpace::new("t:", [7; 32], 4));
        QueuedRequest::new(SmallVec::from_iter([packed]), Instant::now())
    }

    /// The sizes of the requests in each call until the queue is empty.
    fn calls(small: usize, bulk: usize) -> Vec<Vec<usize>> {
        let mut queue =
            RequestQueue::new(ServerError::new(ErrorKind::Down, "not reached"), MAX_CALLS);
        queue.waiting.extend((0..small).map(|_| request(1)));
        queue.bulk.extend((0..bulk).map(|_| request(40)));
        let batches = std::iter::from_fn(|| {
            let sizes: Vec<_> = queue.batch().requests.iter().map(QueuedRequest::checks).collect();
            (!sizes.is_empty()).then_some(sizes)
        });
        batches.collect()
    }

    #[test]
    fn single_requests_precede_older_bulk() {
        assert_eq!(calls(2, 2), [vec![1, 1, 40], vec![40]]);
    }

    #[test]
    fn bulk_is_not_starved_by_single_requests() {
        let calls = calls(150, 2);
        assert_eq!(calls[0], [1; 64]);
        assert_eq!(calls[1], [vec![40], vec![1; 24]].concat());
        assert_eq!(calls[2], [vec![1; 62], vec![]].concat());
        assert_eq!(calls[3], [40]);
    }
}

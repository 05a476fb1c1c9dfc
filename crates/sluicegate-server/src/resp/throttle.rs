//! `CL.THROTTLE`: the command brings key and quota; the reply is that of redis-cell.
//!
//! Commands that arrive together are decided as a batch, without an allocation per command.

mod error;
mod limit_cache;

use sluicegate::{Algorithm, Check, Cost, Decision, Limiter, Memory, Operation, Plan, Span, Store};
use smallvec::SmallVec;

pub(super) use self::error::ThrottleArgumentError;
use self::limit_cache::{CacheError, CacheSlot, CellQuota, LimitCache};
use super::arguments::Arguments;
use super::integer;
use super::parser::Argument;
use super::reply_writer::ReplyWriter;
use crate::metrics::Metrics;

/// The size of a batch of checks: as many as the memory store prefetches.
const BATCH: usize = 16;

/// The queue of throttles to be decided, in order.
#[derive(Debug, Default)]
pub(super) struct Throttles {
    limits: LimitCache,
    queue: Vec<ThrottleCommand>,
}

/// A throttle in the queue.
#[derive(Debug, Clone, Copy)]
struct ThrottleCommand {
    key: Argument,
    limit: CacheSlot,
    quantity: i64,
}

/// The reason that a throttle cannot be queued.
#[derive(Debug)]
pub(super) enum ThrottleError {
    /// The slot of its limit is in use until the queue is decided.
    Full,
    /// An argument is invalid.
    Invalid(ThrottleArgumentError),
}

impl From<ThrottleArgumentError> for ThrottleError {
    fn from(error: ThrottleArgumentError) -> Self {
        Self::Invalid(error)
    }
}

impl Throttles {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Queues a command.
    #[inline]
    pub(super) fn add(&mut self, arguments: Arguments<'_>) -> Result<(), ThrottleError> {
        let ([_, key, max_burst, count, period], quantity) = match arguments.positions {
            [name, key, burst, count, period] => ([name, key, burst, count, period], None),
            [name, key, burst, count, period, quantity] => {
                ([name, key, burst, count, period], Some(quantity))
            }
            _ => return Err(ThrottleArgumentError::Usage.into()),
        };
        let number = |argument: &Argument| {
            let text = argument.of(arguments.bytes);
            integer(text).ok_or_else(|| ThrottleArgumentError::NotAnInteger(text.to_vec()))
        };
        let quota = CellQuota {
            max_burst: number(max_burst)?,
            count: number(count)?,
            period: number(period)?,
        };
        let quantity = quantity.map_or(Ok(1), number)?;
        let bytes = key.of(arguments.bytes).len();
        if bytes > Limiter::<Memory>::MAX_KEY {
            return Err(ThrottleArgumentError::LongKey { bytes }.into());
        }
        let limit = self.limits.insert(quota).map_err(|error| match error {
            CacheError::Occupied => ThrottleError::Full,
            CacheError::Invalid(error) => error.into(),
        })?;
        self.queue.push(ThrottleCommand { key: *key, limit, quantity });
        Ok(())
    }

    /// Decides queued throttles while the store needs no waiting, and writes their replies.
    pub(super) fn decide_now<S: Store>(
        &mut self,
        limiter: &Limiter<S>,
        metrics: &Metrics,
        bytes: &[u8],
        replies: &mut ReplyWriter,
    ) {
        let (mut counts, mut decided) = (OutcomeCounts::default(), 0);
        let (queue, limits) = (&self.queue, &self.limits);
        for throttles in queue.chunks(BATCH) {
            let checks: SmallVec<[Check<'_>; BATCH]> =
                throttles.iter().filter_map(|one| one.check(bytes, limits)).collect();
            let mut queued = throttles.iter();
            let made = limiter.try_check_batch(&checks, |decision| {
                if let Some(throttle) = queued.next() {
                    counts.add(throttle, decision);
                    answer(decision, replies);
                }
            });
            decided += made;
            if made < throttles.len() {
                break;
            }
        }
        counts.publish(metrics);
        self.dequeue(decided);
    }

    /// Decides the queued throttles, waiting for the store, and writes their replies.
    pub(super) async fn decide<S: Store>(
        &mut self,
        limiter: &Limiter<S>,
        metrics: &Metrics,
        bytes: &[u8],
        replies: &mut ReplyWriter,
    ) {
        let checks = self.queue.iter().filter_map(|one| one.check(bytes, &self.limits));
        let plans: Vec<Plan<'_>> = checks
            .map(|check| {
                let mut plan = Plan::new();
                plan.require(check);
                plan
            })
            .collect();
        let mut counts = OutcomeCounts::default();
        let verdicts = limiter.check_batch(&plans).await;
        for (throttle, verdict) in self.queue.iter().zip(&verdicts) {
            match verdict {
                Ok(verdict) => {
                    if let [Some(decision)] = verdict.decisions() {
                        counts.add(throttle, decision);
                        answer(decision, replies);
                    }
                }
                Err(error) => {
                    counts.others += 1;
                    replies.error(format_args!("Cell error: {error}"));
                }
            }
        }
        counts.publish(metrics);
        self.dequeue(self.queue.len());
    }

    /// Removes the throttles that have been answered.
    fn dequeue(&mut self, answered: usize) {
        if answered >= self.queue.len() {
            self.queue.clear();
            self.limits.release();
        } else {
            self.queue.drain(..answered);
        }
    }
}

impl ThrottleCommand {
    /// Returns the check; the slot always has a limit while the throttle is queued.
    #[inline]
    fn check<'a>(&self, bytes: &'a [u8], limits: &'a LimitCache) -> Option<Check<'a>> {
        let check = Check::new(limits.at(self.limit)?, self.key.of(bytes));
        if self.quantity == 1 {
            return Some(check);
        }
        // Clamped: a cost above the exact range is above the capacity of any limit, too.
        let cost = Cost::new(self.quantity.unsigned_abs()).unwrap_or(Cost::MAX);
        Some(if self.quantity < 0 {
            check.with_operation(Operation::Refund(cost))
        } else {
            check.cost(cost)
        })
    }
}

/// The outcomes of a batch of commands, for the metrics.
#[derive(Debug, Default)]
struct OutcomeCounts {
    allowed: u64,
    refused: u64,
    /// Refunds, and throttles that could not be decided.
    others: u64,
}

impl OutcomeCounts {
    #[inline]
    fn add(&mut self, throttle: &ThrottleCommand, decision: &Decision) {
        if throttle.quantity < 0 {
            self.others += 1;
        } else if decision.is_allowed() {
            self.allowed += 1;
        } else {
            self.refused += 1;
        }
    }

    fn publish(&self, metrics: &Metrics) {
        metrics.throttled_many(Algorithm::TokenBucket, self.allowed, self.refused);
        metrics.resp().throttles(self.allowed + self.refused + self.others);
    }
}

/// Writes the reply: limited or not, capacity, remaining units, and two times in seconds.
///
/// The first is the time to wait before a retry (-1 if there is none), the second the time until
/// full recovery.
#[inline]
fn answer(decision: &Decision, replies: &mut ReplyWriter) {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let seconds = |span: Span| whole(span.as_secs_ceil());
    replies.array(5);
    replies.integer(i64::from(!decision.is_allowed()));
    replies.integer(whole(decision.limit()));
    replies.integer(whole(decision.remaining()));
    replies.integer(decision.retry_after().map_or(-1, seconds));
    replies.integer(seconds(decision.reset_after()));
}

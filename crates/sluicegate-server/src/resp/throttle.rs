//! `CL.THROTTLE`: the command brings key and quota; the reply is that of redis-cell.
//!
//! Commands that arrive together are decided as a batch, without an allocation per command.

mod cell_quota;
mod error;

use std::sync::Arc;

use sluicegate::{
    Algorithm, Check, Cost, Decision, Limit, Limiter, Memory, Operation, Plan, Span, Store,
};
use smallvec::SmallVec;

use self::cell_quota::CellQuota;
pub(super) use self::error::ThrottleArgumentError;
use super::arguments::Arguments;
use super::integer;
use super::parser::Argument;
use super::reply_writer::ReplyWriter;
use crate::limit_cache::LimitCache;
use crate::metrics::Metrics;

/// The size of a batch of checks: as many as the memory store prefetches.
const BATCH: usize = 16;

/// The queue of throttles to be decided, in order.
#[derive(Debug, Default)]
pub(super) struct Throttles {
    limits: LimitCache<CellQuota>,
    queue: Vec<ThrottleCommand>,
}

/// A throttle in the queue.
#[derive(Debug)]
struct ThrottleCommand {
    key: Argument,
    limit: Arc<Limit>,
    quantity: i64,
}

impl Throttles {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Queues a command.
    #[inline]
    pub(super) fn add(&mut self, arguments: Arguments<'_>) -> Result<(), ThrottleArgumentError> {
        let ([_, key, max_burst, count, period], quantity) = match arguments.positions {
            [name, key, burst, count, period] => ([name, key, burst, count, period], None),
            [name, key, burst, count, period, quantity] => {
                ([name, key, burst, count, period], Some(quantity))
            }
            _ => return Err(ThrottleArgumentError::Usage),
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
            return Err(ThrottleArgumentError::LongKey { bytes });
        }
        let limit = match self.limits.get(&quota) {
            Some(limit) => Arc::clone(limit),
            None => self.cache(quota)?,
        };
        self.queue.push(ThrottleCommand { key: *key, limit, quantity });
        Ok(())
    }

    /// Caches and returns the limit of a quota.
    #[cold]
    fn cache(&mut self, quota: CellQuota) -> Result<Arc<Limit>, ThrottleArgumentError> {
        let limit = Arc::new(quota.limit()?);
        self.limits.insert(quota, Arc::clone(&limit));
        Ok(limit)
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
        for throttles in self.queue.chunks(BATCH) {
            let checks: SmallVec<[Check<'_>; BATCH]> =
                throttles.iter().map(|one| one.check(bytes)).collect();
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
        self.queue.drain(..decided);
    }

    /// Decides the queued throttles, waiting for the store, and writes their replies.
    pub(super) async fn decide<S: Store>(
        &mut self,
        limiter: &Limiter<S>,
        metrics: &Metrics,
        bytes: &[u8],
        replies: &mut ReplyWriter,
    ) {
        let plans = self.queue.iter().map(|throttle| {
            let mut plan = Plan::new();
            plan.require(throttle.check(bytes));
            plan
        });
        let plans: Vec<Plan<'_>> = plans.collect();
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
        self.queue.clear();
    }
}

impl ThrottleCommand {
    #[inline]
    fn check<'a>(&'a self, bytes: &'a [u8]) -> Check<'a> {
        let check = Check::new(&self.limit, self.key.of(bytes));
        if self.quantity == 1 {
            return check;
        }
        // Clamped: a cost above the exact range is above the capacity of any limit, too.
        let cost = Cost::new(self.quantity.unsigned_abs()).unwrap_or(Cost::MAX);
        if self.quantity < 0 {
            check.with_operation(Operation::Refund(cost))
        } else {
            check.cost(cost)
        }
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

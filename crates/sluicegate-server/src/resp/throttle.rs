//! `CL.THROTTLE`: the command brings key and quota, and is answered as redis-cell answers it.
//!
//! Commands that arrived together are decided together, and nothing is allocated for one of them.

mod limits;
mod mistake;

use sluicegate::{Ask, Check, Cost, Decision, Limiter, Memory, Plan, Span, Store};
use sluicegate_rules::Algorithm;
use smallvec::SmallVec;

use self::limits::{Limits, NoPlace, Place, Terms};
pub(super) use self::mistake::Mistake;
use super::arguments::Arguments;
use super::integer;
use super::parsing::Argument;
use super::replies::Replies;
use crate::metrics::Metrics;

/// How many checks are made at a time; as many as a store in memory fetches together.
const TOGETHER: usize = 16;

/// Throttles that wait to be decided, in their order.
#[derive(Debug, Default)]
pub(super) struct Throttles {
    limits: Limits,
    waiting: Vec<Throttle>,
    decisions: Vec<Decision>,
}

/// A throttle that waits to be decided.
#[derive(Debug, Clone, Copy)]
struct Throttle {
    key: Argument,
    limit: Place,
    quantity: i64,
}

/// Why a throttle does not wait with the others.
#[derive(Debug)]
pub(super) enum NotAdded {
    /// The others have to be decided first.
    Full,
    /// It says something else than it has to.
    Wrong(Mistake),
}

impl From<Mistake> for NotAdded {
    fn from(mistake: Mistake) -> Self {
        Self::Wrong(mistake)
    }
}

impl Throttles {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a command to those that wait.
    #[inline]
    pub(super) fn add(&mut self, arguments: Arguments<'_>) -> Result<(), NotAdded> {
        let ([_, key, max_burst, count, period], quantity) = match arguments.places {
            [name, key, burst, count, period] => ([name, key, burst, count, period], None),
            [name, key, burst, count, period, quantity] => {
                ([name, key, burst, count, period], Some(quantity))
            }
            _ => return Err(Mistake::Usage.into()),
        };
        let number = |argument: &Argument| {
            let text = argument.of(arguments.bytes);
            integer(text).ok_or_else(|| Mistake::NotAnInteger(text.to_vec()))
        };
        let terms =
            Terms { max_burst: number(max_burst)?, count: number(count)?, period: number(period)? };
        let quantity = quantity.map_or(Ok(1), number)?;
        let bytes = key.of(arguments.bytes).len();
        if bytes > Limiter::<Memory>::MAX_KEY {
            return Err(Mistake::LongKey { bytes }.into());
        }
        let limit = self.limits.place(terms).map_err(|why| match why {
            NoPlace::Taken => NotAdded::Full,
            NoPlace::Wrong(mistake) => mistake.into(),
        })?;
        self.waiting.push(Throttle { key: *key, limit, quantity });
        Ok(())
    }

    /// Decides those that wait, as far as the store does not have to be waited for, and answers them.
    pub(super) fn decide_at_once<S: Store>(
        &mut self,
        limiter: &Limiter<S>,
        metrics: &Metrics,
        bytes: &[u8],
        replies: &mut Replies,
    ) {
        self.decisions.clear();
        for throttles in self.waiting.chunks(TOGETHER) {
            let checks: SmallVec<[Check<'_>; TOGETHER]> =
                throttles.iter().filter_map(|one| one.check(bytes, &self.limits)).collect();
            if limiter.check_many_at_once(&checks, &mut self.decisions) < throttles.len() {
                break;
            }
        }
        let mut counted = Counted::default();
        for (throttle, decision) in self.waiting.iter().zip(&self.decisions) {
            counted.add(throttle, decision);
            answer(decision, replies);
        }
        counted.tell(metrics);
        self.forget(self.decisions.len());
    }

    /// Decides those that wait, however long the store takes, and answers them.
    pub(super) async fn decide<S: Store>(
        &mut self,
        limiter: &Limiter<S>,
        metrics: &Metrics,
        bytes: &[u8],
        replies: &mut Replies,
    ) {
        let checks = self.waiting.iter().filter_map(|one| one.check(bytes, &self.limits));
        let plans: Vec<Plan<'_>> = checks
            .map(|check| {
                let mut plan = Plan::new();
                plan.require(check);
                plan
            })
            .collect();
        let mut counted = Counted::default();
        let verdicts = limiter.check_plans(&plans).await;
        for (throttle, verdict) in self.waiting.iter().zip(&verdicts) {
            match verdict {
                Ok(verdict) => {
                    if let [Some(decision)] = verdict.decisions() {
                        counted.add(throttle, decision);
                        answer(decision, replies);
                    }
                }
                Err(error) => {
                    counted.others += 1;
                    replies.error(format_args!("Cell error: {error}"));
                }
            }
        }
        counted.tell(metrics);
        self.forget(self.waiting.len());
    }

    /// The first so many have been answered.
    fn forget(&mut self, answered: usize) {
        if answered >= self.waiting.len() {
            self.waiting.clear();
            self.limits.release();
        } else {
            self.waiting.drain(..answered);
        }
    }
}

impl Throttle {
    /// What is asked of the store; there is always a limit where one was put.
    #[inline]
    fn check<'a>(&self, bytes: &'a [u8], limits: &'a Limits) -> Option<Check<'a>> {
        let check = Check::new(limits.at(self.limit)?, self.key.of(bytes));
        if self.quantity == 1 {
            return Some(check);
        }
        // More than can be counted exactly is more than any limit ever holds.
        let cost = Cost::new(self.quantity.unsigned_abs()).unwrap_or(Cost::MAX);
        Some(if self.quantity < 0 { check.ask(Ask::Refund(cost)) } else { check.cost(cost) })
    }
}

/// What is counted of commands that are answered together.
#[derive(Debug, Default)]
struct Counted {
    allowed: u64,
    refused: u64,
    /// What was given back, or could not be decided.
    others: u64,
}

impl Counted {
    #[inline]
    fn add(&mut self, throttle: &Throttle, decision: &Decision) {
        if throttle.quantity < 0 {
            self.others += 1;
        } else if decision.is_allowed() {
            self.allowed += 1;
        } else {
            self.refused += 1;
        }
    }

    fn tell(&self, metrics: &Metrics) {
        metrics.throttled_many(Algorithm::TokenBucket, self.allowed, self.refused);
        metrics.resp().throttles(self.allowed + self.refused + self.others);
    }
}

/// Whether it is limited, the most there ever is, what is left, and after how many seconds to ask
/// again (-1 if there is no need, or no use) and there is all of it again.
#[inline]
fn answer(decision: &Decision, replies: &mut Replies) {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let seconds = |span: Span| whole(span.as_secs_ceil());
    replies.array(5);
    replies.integer(i64::from(!decision.is_allowed()));
    replies.integer(whole(decision.limit()));
    replies.integer(whole(decision.remaining()));
    replies.integer(decision.retry_after().map_or(-1, seconds));
    replies.integer(seconds(decision.reset_after()));
}

//! The numeric parameters of a limit, for implementations in another language.

use super::{Cooldown, Limit, LimitParameters};
use crate::algorithm::bucket::Bucket;
use crate::algorithm::queue::Queue;
use crate::exact_time::ExactTime;
use crate::quota::Quota;
use crate::time::Span;

/// The parameters of an algorithm, all of them whole and below 2^53.
///
/// For stores that decide next to the state, in another language: the formulas are in the files of
/// the algorithms, and these are their variables under the same names. A new algorithm is a new
/// variant, so that a store that does not implement it does not compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameters {
    /// A token bucket, or a leaky bucket; both decide alike.
    Bucket(BucketParameters),
    /// A queue: a bucket with one place more than the number that may wait.
    Queue(BucketParameters),
    /// A fixed window; its period comes with each check.
    FixedWindow {
        /// Units in a window.
        amount: u64,
        /// The limit of unconditional charges.
        deepest: u64,
    },
    /// A sliding window.
    SlidingWindow {
        /// Units in a window.
        amount: u64,
        /// The number of blocks inside the window.
        slices: u64,
        /// The length of a block.
        block: Span,
        /// The length of a tick; a block is a whole number of them.
        tick: Span,
        /// The limit of unconditional charges.
        deepest: u64,
    },
    /// A sliding log.
    SlidingLog {
        /// Units in a window.
        amount: u64,
        /// The length of the window.
        window: Span,
        /// The limit of unconditional charges.
        deepest: u64,
    },
    /// Concurrency slots. Unconditional charges may go up to twice the slots.
    Concurrency {
        /// The number of slots.
        slots: u64,
        /// The lease of a slot that is not renewed.
        lease: Span,
    },
    /// A cooldown.
    Cooldown(Cooldown),
}

/// The parameters of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketParameters {
    /// The capacity in units.
    pub capacity: u64,
    /// The parts per microsecond; 1 where a unit lasts whole microseconds.
    pub parts: u64,
    /// The number of those parts that one unit lasts.
    pub unit_parts: u64,
    /// The time the whole capacity takes to refill.
    pub full: ExactTime,
    /// The limit of unconditional charges.
    pub deepest: ExactTime,
    /// State further ahead than this was written under a wrong clock.
    pub horizon: ExactTime,
}

/// The parameters of [`Operation::Rescale`](crate::Operation::Rescale) from another quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CarryOver {
    /// The same limit under that quota.
    pub from: BucketParameters,
    /// How long the operation has to be stored as done.
    pub remembered_for: Span,
}

impl Limit {
    /// Returns the parameters of this limit.
    pub fn figures(&self) -> Parameters {
        match &self.kind {
            LimitParameters::TokenBucket(bucket) | LimitParameters::LeakyBucket(bucket) => {
                Parameters::Bucket(bucket.figures())
            }
            LimitParameters::Queue(Queue(bucket)) => Parameters::Queue(bucket.figures()),
            LimitParameters::FixedWindow(window) => {
                Parameters::FixedWindow { amount: window.amount, deepest: window.deepest }
            }
            LimitParameters::SlidingWindow(window) => window.figures(),
            LimitParameters::SlidingLog(log) => Parameters::SlidingLog {
                amount: log.amount,
                window: log.window,
                deepest: log.deepest,
            },
            LimitParameters::Concurrency(concurrency) => {
                Parameters::Concurrency { slots: concurrency.slots, lease: concurrency.lease }
            }
            LimitParameters::Cooldown(cooldown) => Parameters::Cooldown(*cooldown),
        }
    }

    /// Returns the parameters of a rescale from `quota`.
    ///
    /// `None` if this limit does not depend on its quota, or can never have had that one.
    pub fn carry_over(&self, quota: Quota) -> Option<CarryOver> {
        let tiers = self.tiers(quota)?;
        Some(CarryOver { from: tiers.from().figures(), remembered_for: tiers.remembered_for() })
    }
}

impl Bucket {
    fn figures(&self) -> BucketParameters {
        let (parts, unit_parts) = self.interval();
        let (full, deepest, horizon) = self.reach();
        BucketParameters { capacity: self.units(), parts, unit_parts, full, deepest, horizon }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Slices;

    fn moment(micros: u64, parts: u64) -> ExactTime {
        ExactTime { micros, parts }
    }

    #[test]
    fn bucket_parameters_give_the_unit_length_and_bounds() {
        let limit = Limit::token_bucket("limit", "7/3s burst 6".parse().unwrap()).unwrap();
        let figures = BucketParameters {
            capacity: 6,
            parts: 7,
            unit_parts: 3_000_000,
            full: moment(2_571_428, 4),
            deepest: moment(5_142_857, 1),
            horizon: moment(6_142_857, 1),
        };
        assert_eq!(limit.figures(), Parameters::Bucket(figures));
        let strict =
            BucketParameters { deepest: figures.full, horizon: moment(3_571_428, 4), ..figures };
        assert_eq!(limit.without_debt().figures(), Parameters::Bucket(strict));
        let queue = Limit::queue("limit", "7/3s burst 5".parse().unwrap()).unwrap();
        assert_eq!(queue.figures(), Parameters::Queue(figures));
    }

    #[test]
    fn window_parameters_give_its_blocks() {
        let quota = "10/min".parse().unwrap();
        let window = Limit::sliding_window("limit", quota, Slices::Strict(6)).unwrap();
        let ten_seconds = Span::from_secs(10);
        assert_eq!(
            window.figures(),
            Parameters::SlidingWindow {
                amount: 10,
                slices: 6,
                block: ten_seconds,
                tick: ten_seconds,
                deepest: 20,
            }
        );
    }

    #[test]
    fn carry_over_exists_for_quotas_that_a_bucket_can_have_had() {
        let limit = Limit::token_bucket("limit", "10/s".parse().unwrap()).unwrap();
        let slow = "2/min burst 1".parse().unwrap();
        let carried = limit.carry_over(slow).unwrap();
        let before = Limit::token_bucket("limit", slow).unwrap();
        assert_eq!(Parameters::Bucket(carried.from), before.figures());
        assert_eq!(carried.remembered_for, Span::from_secs(61));
        assert_eq!(limit.carry_over("10/month".parse().unwrap()), None);
        let log = Limit::sliding_log("limit", "10/s".parse().unwrap()).unwrap();
        assert_eq!(log.carry_over(slow), None);
    }
}

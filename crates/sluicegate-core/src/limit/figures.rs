//! The plain numbers of a limit: what a twin of its algorithm needs to decide as it does.

use super::{Cooldown, Kind, Limit};
use crate::algorithm::bucket::Bucket;
use crate::algorithm::queue::Queue;
use crate::moment::Moment;
use crate::quota::Quota;
use crate::time::Span;

/// The numbers that an algorithm works with, all of them whole and below 2^53.
///
/// For stores that decide where the state is, in another language: the formulas are in the
/// files of the algorithms, and these are their variables under the same names. A new
/// algorithm is a new kind here, so that a twin that does not know it is not built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figures {
    /// A token bucket, or a leaky bucket: they answer alike.
    Bucket(BucketFigures),
    /// A queue, which is a bucket with one place more than may wait.
    Queue(BucketFigures),
    /// A fixed window; its period comes with each check.
    FixedWindow {
        /// Units in a window.
        amount: u64,
        /// How far charges without asking may go.
        deepest: u64,
    },
    /// A sliding window.
    SlidingWindow {
        /// Units in a window.
        amount: u64,
        /// Blocks that lie inside the window.
        slices: u64,
        /// How long a block is.
        block: Span,
        /// How long a tick is: a block is a whole number of them.
        tick: Span,
        /// How far charges without asking may go.
        deepest: u64,
    },
    /// A sliding log.
    SlidingLog {
        /// Units in a window.
        amount: u64,
        /// How long the window is.
        window: Span,
        /// How far charges without asking may go.
        deepest: u64,
    },
    /// Slots that are held. Charges without asking may go up to twice the slots.
    Concurrency {
        /// How many there are.
        slots: u64,
        /// How long one is held without being renewed.
        lease: Span,
    },
    /// A cooldown.
    Cooldown(Cooldown),
}

/// The numbers of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketFigures {
    /// The most units there ever are.
    pub capacity: u64,
    /// Parts of a microsecond that it counts in; 1 where a unit lasts whole microseconds.
    pub parts: u64,
    /// How many of those parts one unit lasts.
    pub unit_parts: u64,
    /// How long the whole capacity takes to refill.
    pub full: Moment,
    /// How far charges without asking may go.
    pub deepest: Moment,
    /// State further ahead than this was written under a clock that was wrong.
    pub horizon: Moment,
}

/// What carries the units of a bucket over from another quota, as
/// [`Ask::Rescale`](crate::Ask::Rescale) asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CarryOver {
    /// The same limit under that quota.
    pub from: BucketFigures,
    /// How long it has to be remembered that this was done.
    pub remembered_for: Span,
}

impl Limit {
    /// The numbers this limit decides with.
    pub fn figures(&self) -> Figures {
        match &self.kind {
            Kind::TokenBucket(bucket) | Kind::LeakyBucket(bucket) => {
                Figures::Bucket(bucket.figures())
            }
            Kind::Queue(Queue(bucket)) => Figures::Queue(bucket.figures()),
            Kind::FixedWindow(window) => {
                Figures::FixedWindow { amount: window.amount, deepest: window.deepest }
            }
            Kind::SlidingWindow(window) => window.figures(),
            Kind::SlidingLog(log) => {
                Figures::SlidingLog { amount: log.amount, window: log.window, deepest: log.deepest }
            }
            Kind::Concurrency(concurrency) => {
                Figures::Concurrency { slots: concurrency.slots, lease: concurrency.lease }
            }
            Kind::Cooldown(cooldown) => Figures::Cooldown(*cooldown),
        }
    }

    /// What carries units over from `quota`; `None` if this limit does not depend on it, or if
    /// it can never have had that quota.
    pub fn carry_over(&self, quota: Quota) -> Option<CarryOver> {
        let tiers = self.tiers(quota)?;
        Some(CarryOver { from: tiers.from().figures(), remembered_for: tiers.remembered_for() })
    }
}

impl Bucket {
    fn figures(&self) -> BucketFigures {
        let (parts, unit_parts) = self.pace();
        let (full, deepest, horizon) = self.reach();
        BucketFigures { capacity: self.units(), parts, unit_parts, full, deepest, horizon }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Slices;

    fn moment(micros: u64, parts: u64) -> Moment {
        Moment { micros, parts }
    }

    #[test]
    fn a_bucket_tells_how_long_a_unit_lasts_and_how_far_it_reaches() {
        let limit = Limit::token_bucket("limit", "7/3s burst 6".parse().unwrap()).unwrap();
        let figures = BucketFigures {
            capacity: 6,
            parts: 7,
            unit_parts: 3_000_000,
            full: moment(2_571_428, 4),
            deepest: moment(5_142_857, 1),
            horizon: moment(6_142_857, 1),
        };
        assert_eq!(limit.figures(), Figures::Bucket(figures));
        let strict =
            BucketFigures { deepest: figures.full, horizon: moment(3_571_428, 4), ..figures };
        assert_eq!(limit.without_debt().figures(), Figures::Bucket(strict));
        let queue = Limit::queue("limit", "7/3s burst 5".parse().unwrap()).unwrap();
        assert_eq!(queue.figures(), Figures::Queue(figures));
    }

    #[test]
    fn a_window_tells_its_blocks() {
        let quota = "10/min".parse().unwrap();
        let window = Limit::sliding_window("limit", quota, Slices::Strict(6)).unwrap();
        let ten_seconds = Span::from_secs(10);
        assert_eq!(
            window.figures(),
            Figures::SlidingWindow {
                amount: 10,
                slices: 6,
                block: ten_seconds,
                tick: ten_seconds,
                deepest: 20,
            }
        );
    }

    #[test]
    fn units_are_carried_over_from_quotas_that_a_bucket_can_have_had() {
        let limit = Limit::token_bucket("limit", "10/s".parse().unwrap()).unwrap();
        let slow = "2/min burst 1".parse().unwrap();
        let carried = limit.carry_over(slow).unwrap();
        let before = Limit::token_bucket("limit", slow).unwrap();
        assert_eq!(Figures::Bucket(carried.from), before.figures());
        assert_eq!(carried.remembered_for, Span::from_secs(61));
        assert_eq!(limit.carry_over("10/month".parse().unwrap()), None);
        let log = Limit::sliding_log("limit", "10/s".parse().unwrap()).unwrap();
        assert_eq!(log.carry_over(slow), None);
    }
}

//! The share of one node of a limit, for decisions without the shared store.

use super::{Limit, LimitParameters};
use crate::algorithm::bucket::Bucket;
use crate::algorithm::concurrency::Concurrency;
use crate::algorithm::fixed_window::FixedWindow;
use crate::algorithm::queue::Queue;
use crate::algorithm::sliding_log::SlidingLog;

impl Limit {
    /// Returns one of `nodes` shares of this limit.
    ///
    /// All shares together grant no more than the limit would: the same rate and the same
    /// capacity, divided, and without debt.
    ///
    /// A share is at least one unit, so that no caller is locked out: with more nodes than units,
    /// each node may grant a unit. A bucket's recovery time does not change, so a state keeps its
    /// meaning: the same fraction of it is used. The failures of a cooldown are not divided,
    /// because then a block would come earlier than configured.
    ///
    /// ```
    /// use sluicegate_core::Limit;
    ///
    /// let limit = Limit::token_bucket("api", "100/min burst 20".parse()?)?;
    /// let share = limit.share_of(4);
    /// assert_eq!(share.capacity(), 5);
    /// assert_eq!(share.recovery(), limit.recovery());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn share_of(&self, nodes: u32) -> Self {
        let own = |all: u64| (all / u64::from(nodes.max(1))).max(1);
        let bucket = |bucket: &Bucket| bucket.share_of(nodes.max(1));
        let kind = match &self.kind {
            LimitParameters::TokenBucket(all) => LimitParameters::TokenBucket(bucket(all)),
            LimitParameters::LeakyBucket(all) => LimitParameters::LeakyBucket(bucket(all)),
            LimitParameters::Queue(Queue(all)) => LimitParameters::Queue(Queue(bucket(all))),
            LimitParameters::FixedWindow(all) => {
                let amount = own(all.amount);
                LimitParameters::FixedWindow(FixedWindow { amount, deepest: amount, ..all.clone() })
            }
            LimitParameters::SlidingWindow(all) => {
                LimitParameters::SlidingWindow(all.holding(own(all.amount())))
            }
            LimitParameters::SlidingLog(all) => {
                let amount = own(all.amount);
                LimitParameters::SlidingLog(SlidingLog { amount, deepest: amount, ..all.clone() })
            }
            LimitParameters::Concurrency(all) => {
                LimitParameters::Concurrency(Concurrency { slots: own(all.slots), ..all.clone() })
            }
            LimitParameters::Cooldown(cooldown) => LimitParameters::Cooldown(*cooldown),
        };
        Self { kind, ..self.clone() }
    }

    /// Returns the limit for charging units that a share has granted.
    ///
    /// Such a charge arrives late: others may have used the whole capacity meanwhile, and without
    /// debt it could not be charged at all. So a bucket, or a queue, can be charged up to a second
    /// beyond exhausted.
    ///
    /// Readers accept states up to a second ahead in any case, to allow for clock differences, so
    /// the limit itself reads these states correctly. Windows do not change, because they end.
    ///
    /// ```
    /// use sluicegate_core::{Limit, Span};
    ///
    /// let limit = Limit::token_bucket("api", "100/min burst 20".parse()?)?.without_debt();
    /// let late = limit.charged_late();
    /// assert_eq!(late.recovery(), limit.recovery());
    /// assert_eq!(late.longest_delay(), Span::from_secs(1), "the limit of debt");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn charged_late(&self) -> Self {
        let kind = match &self.kind {
            LimitParameters::TokenBucket(bucket) => {
                LimitParameters::TokenBucket(bucket.charged_late())
            }
            LimitParameters::LeakyBucket(bucket) => {
                LimitParameters::LeakyBucket(bucket.charged_late())
            }
            LimitParameters::Queue(Queue(bucket)) => {
                LimitParameters::Queue(Queue(bucket.charged_late()))
            }
            kind => kind.clone(),
        };
        Self { kind, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact_time::ExactTime;
    use crate::limit::{BucketParameters, Cooldown, Parameters, Slices};
    use crate::time::Span;

    fn limits() -> Vec<Limit> {
        let quota = |text: &str| text.parse().unwrap();
        let cooldown = Cooldown {
            after: 5,
            within: Span::from_secs(60),
            block: Span::from_secs(10),
            escalation: None,
            pending: None,
            reset_on_success: false,
        };
        vec![
            Limit::token_bucket("a", quota("100/min burst 20")).unwrap(),
            Limit::leaky_bucket("b", quota("7/3s burst 9")).unwrap(),
            Limit::queue("c", quota("10/s burst 30")).unwrap(),
            Limit::fixed_window("d", quota("1000/day")).unwrap(),
            Limit::sliding_window("e", quota("100/min"), Slices::Weighted(6)).unwrap(),
            Limit::sliding_log("f", quota("50/min")).unwrap(),
            Limit::concurrency("g", 20, Span::from_secs(5)).unwrap(),
            Limit::cooldown("h", cooldown).unwrap(),
        ]
    }

    #[test]
    fn all_shares_together_are_no_more_than_the_limit() {
        for limit in limits() {
            for nodes in 1..=7_u32 {
                let share = limit.share_of(nodes);
                let together = share.capacity() * u64::from(nodes);
                let divided = !limit.counts_failures();
                assert!(!divided || together <= limit.capacity(), "{} of {nodes}", limit.name());
                assert_eq!(share.name(), limit.name(), "filed under the same name");
            }
        }
    }

    #[test]
    fn a_share_of_one_node_is_the_limit_without_debt() {
        for limit in limits() {
            assert_eq!(limit.share_of(1), limit.clone().without_debt(), "{}", limit.name());
            assert_eq!(limit.share_of(0), limit.share_of(1));
        }
    }

    #[test]
    fn late_charges_go_a_second_beyond_exhausted_and_the_horizon_does_not_move() {
        for limit in limits() {
            for limit in [limit.clone(), limit.without_debt()] {
                let late = limit.charged_late();
                let ((Parameters::Bucket(before), Parameters::Bucket(after))
                | (Parameters::Queue(before), Parameters::Queue(after))) =
                    (limit.figures(), late.figures())
                else {
                    assert_eq!(late, limit, "{}", limit.name());
                    continue;
                };
                let second = before.full.micros + 1_000_000;
                let deepest = ExactTime { micros: second, ..before.full }.max(before.deepest);
                assert_eq!(after, BucketParameters { deepest, ..before }, "{}", limit.name());
                assert!(after.deepest <= after.horizon, "readers accept the state");
            }
        }
    }

    #[test]
    fn a_share_is_at_least_one_unit() {
        for limit in limits() {
            assert!(limit.share_of(u32::MAX).capacity() >= 1, "{}", limit.name());
        }
    }

    #[test]
    fn a_bucket_hands_out_its_part_of_the_rate() {
        let limit = Limit::token_bucket("a", "100/min burst 20".parse().unwrap()).unwrap();
        let share = Limit::token_bucket("a", "25/min burst 5".parse().unwrap()).unwrap();
        let LimitParameters::TokenBucket(bucket) = &limit.share_of(4).kind else {
            panic!("a bucket")
        };
        let LimitParameters::TokenBucket(expected) = &share.without_debt().kind else {
            panic!("a bucket")
        };
        assert_eq!(bucket, expected);
    }
}

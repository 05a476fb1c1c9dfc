//! Requests that bring their own quota.

use super::Traffic;
use crate::case::{Action, Throttle, Via};
use crate::rule_file::{Algorithm, Quota};

impl Traffic<'_> {
    pub(super) fn throttle(&mut self, node: usize) -> Action {
        let via = *self.rng.pick(&[Via::Http, Via::Resp]);
        let count = if self.rng.one_in(2) { 1 } else { self.rng.between(2, 6) };
        let mut throttles: Vec<Throttle> = (0..count).map(|_| self.one_throttle(via)).collect();
        if via == Via::Resp && self.rng.one_in(3) {
            // All units of a bucket, and one more.
            let first = Throttle { cost: 1, ..throttles[0].clone() };
            let units = usize::try_from(first.quota.capacity()).unwrap_or(1);
            throttles = vec![first; units + 1];
        } else if via == Via::Resp && self.rng.one_in(2) {
            // A unit recovers between two takes of one pipeline.
            let first = throttles[0].clone();
            throttles.push(Throttle { cost: -1, ..first.clone() });
            throttles.push(Throttle { cost: 1, ..first });
        }
        for throttle in &throttles {
            let evaluation = self.model.throttle(node, throttle, via == Via::Resp);
            self.edges.learn(&evaluation);
            let is_one = throttle.algorithm == Algorithm::TokenBucket && throttle.cost == 1;
            if is_one && !evaluation.is_allowed() {
                self.exhausted = Some((node, throttle.clone()));
            }
        }
        Action::Throttle { via, throttles }
    }

    /// Returns a pipeline that refunds a unit between two takes that a deny cache may refuse.
    pub(super) fn refund_between(&mut self, node: usize, refused: &Throttle) -> Action {
        let throttles = [1, -1, 1].map(|cost| Throttle { cost, ..refused.clone() }).to_vec();
        for throttle in &throttles {
            self.model.throttle(node, throttle, true);
        }
        Action::Throttle { via: Via::Resp, throttles }
    }

    /// A key has one quota for each algorithm: two quotas on one counter are covered by other
    /// cases.
    fn one_throttle(&mut self, via: Via) -> Throttle {
        let key = self.rng.below(3);
        let algorithm = match self.rng.below(6) {
            _ if via == Via::Resp => Algorithm::TokenBucket,
            0 => Algorithm::LeakyBucket,
            1 => Algorithm::Queue,
            2 => Algorithm::FixedWindow,
            3 => Algorithm::SlidingWindow { slices: 2, strict: key == 1 },
            4 => Algorithm::SlidingLog,
            _ => Algorithm::TokenBucket,
        };
        let burst = (algorithm.is_bucket() && key > 0).then_some(key + 4);
        let quota = Quota {
            amount: key + 2,
            period_us: [1, 10, 60][usize::try_from(key).unwrap_or(0)] * 1_000_000,
            burst,
        };
        let cost = match self.rng.below(8) {
            0 => 0,
            1 => 2,
            2 | 4 if via == Via::Resp => -1,
            3 => i64::try_from(quota.capacity()).unwrap_or(1),
            5 => 9,
            _ => 1,
        };
        Throttle { key: format!("k{key}"), quota, algorithm, cost }
    }
}

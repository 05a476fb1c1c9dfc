//! The oracle compared with values computed by hand.

use super::*;
use crate::trace::{AskSpec, BucketSpec, EscalationSpec, ExpectedDecision, Reason};

const NOW: u64 = 1_699_920_000_000_000;
const SECOND: u64 = 1_000_000;

/// One limit and one key.
struct One {
    oracle: Oracle,
    length: u64,
}

impl One {
    fn new(algorithm: AlgorithmSpec) -> One {
        let length = match algorithm {
            AlgorithmSpec::FixedWindow { period_us, .. } => period_us,
            _ => 1,
        };
        let limit = LimitSpec { name: "calls".to_owned(), algorithm };
        let oracle = Oracle::new(&BTreeMap::from([("calls".to_owned(), limit)]));
        One { oracle, length }
    }

    fn ask(&mut self, at: u64, ask: AskSpec) -> ExpectedDecision {
        let at = NOW + at;
        let start = at - at % self.length;
        let check = CheckSpec {
            limit: "calls".to_owned(),
            key: "alice".to_owned(),
            ask,
            or: false,
            period: Some((start, start + self.length)),
        };
        let step = Step { at, independent: false, checks: vec![check], expect: None };
        self.oracle.step(&step).decisions[0].expect("a single check is always asked")
    }

    fn take(&mut self, at: u64, units: u64) -> ExpectedDecision {
        self.ask(at, AskSpec::Take { least: units, most: units, patience_us: None })
    }

    /// Returns whether it was allowed, the units granted and remaining, and the reset time.
    fn brief(&mut self, at: u64, ask: AskSpec) -> (bool, u64, u64, u64) {
        let decision = self.ask(at, ask);
        (decision.allowed, decision.granted, decision.remaining, decision.reset_after_us)
    }
}

fn give_back(step: usize, actual: u64) -> AskSpec {
    AskSpec::Settle { step, check: 0, actual }
}

fn bucket(amount: u64, period_us: u64, burst: u64, debt: bool) -> BucketSpec {
    BucketSpec { amount, period_us, burst, debt }
}

#[test]
fn token_bucket_by_hand() {
    // 7 per 3 s: a unit takes 428571 and 3/7 µs.
    let mut one = One::new(AlgorithmSpec::TokenBucket(bucket(7, 3 * SECOND, 7, false)));
    let first = one.take(0, 5);
    // 5 units are 2142857 and 1/7 µs.
    assert_eq!((first.remaining, first.reset_after_us), (2, 2_142_858));
    let refused = one.take(0, 3);
    // One unit is missing.
    assert_eq!((refused.reason, refused.retry_after_us), (Some(Reason::Exhausted), Some(428_572)));
    assert!(!one.take(428_571, 3).allowed);
    let second = one.take(428_572, 3);
    // Full again 8 units after the beginning: 3428571 and 3/7, less 428572.
    assert_eq!((second.allowed, second.remaining, second.reset_after_us), (true, 0, 3_000_000));
    assert_eq!(one.take(428_572, 8).reason, Some(Reason::CostAboveLimit));
}

#[test]
fn token_bucket_gives_back_by_hand() {
    let mut one = One::new(AlgorithmSpec::TokenBucket(bucket(10, SECOND, 10, false)));
    one.take(0, 4);
    one.take(0, 4);
    // The first lasts until 0.4 s: at 0.25 s that is 0.15 s, one unit and a half. The level was 8
    // - 2.5 = 5.5, and becomes 4.
    assert_eq!(one.brief(250_000, give_back(0, 0)), (true, 3, 6, 400_000));
    assert_eq!(one.ask(250_000, give_back(0, 0)).reason, Some(Reason::Spent));
}

#[test]
fn patience_by_hand() {
    let mut one = One::new(AlgorithmSpec::LeakyBucket(bucket(10, SECOND, 5, true)));
    one.take(0, 5);
    let patient = |patience| AskSpec::Take { least: 2, most: 2, patience_us: Some(patience) };
    // Two units take 0.2 s.
    assert_eq!(one.ask(0, patient(199_999)).retry_after_us, Some(1));
    let delayed = one.ask(0, patient(200_000));
    assert_eq!(
        (delayed.allowed, delayed.delay_us, delayed.reset_after_us),
        (true, 200_000, 700_000)
    );
}

#[test]
fn queue_by_hand() {
    // One served, two places; slots are 0.1 s apart.
    let mut one = One::new(AlgorithmSpec::Queue(bucket(10, SECOND, 2, false)));
    let delays: Vec<u64> = (0..3).map(|_| one.take(0, 1).delay_us).collect();
    assert_eq!(delays, [0, 100_000, 200_000]);
    let refused = one.take(0, 1);
    assert_eq!((refused.limit, refused.retry_after_us), (3, Some(100_000)));
    // The second is not the last in the queue; the third is.
    assert_eq!(one.ask(0, give_back(1, 0)).granted, 1);
    assert_eq!(one.ask(0, give_back(2, 0)).granted, 0);
    assert_eq!(one.take(50_000, 1).delay_us, 150_000);
}

#[test]
fn fixed_window_by_hand() {
    let quota = AlgorithmSpec::FixedWindow { amount: 3, period_us: 60 * SECOND, debt: true };
    let mut one = One::new(quota);
    assert_eq!(one.take(10 * SECOND, 3).reset_after_us, 50 * SECOND);
    assert_eq!(one.take(59 * SECOND, 1).retry_after_us, Some(SECOND));
    assert_eq!(one.brief(59 * SECOND, AskSpec::Charge { units: 9 }), (true, 3, 0, SECOND));
    assert_eq!(one.take(59 * SECOND, 0).reason, Some(Reason::Exhausted));
    assert_eq!(one.take(60 * SECOND, 2).remaining, 1);
    // A second before its beginning the window still counts, a microsecond more and it is full.
    assert_eq!(one.take(59 * SECOND, 1).reset_after_us, 61 * SECOND);
    assert_eq!(one.take(59 * SECOND - 1, 1).retry_after_us, Some(SECOND + 1));
}

#[test]
fn sliding_window_by_hand() {
    let (amount, period_us) = (10, 60 * SECOND);
    let quota =
        AlgorithmSpec::SlidingWindow { amount, period_us, slices: 1, strict: false, debt: false };
    let mut one = One::new(quota);
    one.take(30 * SECOND, 8);
    // A quarter into the next block the eight count for six.
    assert_eq!(one.take(75 * SECOND, 4).remaining, 0);
    // 8 * (1 - x) + 4 + 1 <= 10 at x = 3/8, which is 22.5 s into the block.
    assert_eq!(one.take(75 * SECOND, 1).retry_after_us, Some(7_500_000));
    assert_eq!(one.take(75 * SECOND, 0).reset_after_us, 105 * SECOND);
}

#[test]
fn sliding_log_by_hand() {
    let quota = AlgorithmSpec::SlidingLog { amount: 3, period_us: 10 * SECOND, debt: false };
    let mut one = One::new(quota);
    one.take(0, 1);
    one.take(SECOND, 2);
    assert_eq!(one.take(2 * SECOND, 1).retry_after_us, Some(8 * SECOND));
    assert_eq!(one.take(2 * SECOND, 2).retry_after_us, Some(9 * SECOND));
    assert!(!one.take(10 * SECOND - 1, 1).allowed);
    assert_eq!(one.take(10 * SECOND, 1).reset_after_us, 10 * SECOND);
}

#[test]
fn concurrency_by_hand() {
    let mut one = One::new(AlgorithmSpec::Concurrency { slots: 2, lease_us: 10 * SECOND });
    one.take(0, 1);
    one.take(SECOND, 1);
    assert_eq!(one.take(SECOND, 1).reason, Some(Reason::Busy));
    assert_eq!(
        one.ask(9 * SECOND, AskSpec::Renew { step: 0, check: 0 }).reset_after_us,
        10 * SECOND
    );
    // The second expired, the first was renewed until 19 s.
    assert_eq!(one.brief(11 * SECOND, AskSpec::Charge { units: 9 }), (true, 3, 0, 10 * SECOND));
    assert_eq!(one.ask(11 * SECOND, give_back(1, 0)).reason, Some(Reason::Lost));
}

#[test]
fn cooldown_by_hand() {
    let escalation = Some(EscalationSpec { factor: 3, max_us: 25 * SECOND });
    let (within_us, block_us) = (20 * SECOND, 10 * SECOND);
    let mut one = One::new(AlgorithmSpec::Cooldown {
        after: 2,
        within_us,
        block_us,
        escalation,
        pending_us: None,
        reset_on_success: false,
    });
    assert_eq!(one.brief(0, AskSpec::Charge { units: 1 }), (true, 1, 1, 20 * SECOND));
    // Blocked until 11 s; the streak ends 20 s after that.
    assert_eq!(one.brief(SECOND, AskSpec::Charge { units: 5 }), (true, 1, 0, 30 * SECOND));
    assert_eq!(one.take(2 * SECOND, 1).retry_after_us, Some(9 * SECOND));
    assert_eq!(one.take(11 * SECOND, 7).granted, 7);
    // Three times as long would be 30 s, the maximum is 25: until 37 s, the streak ends 25 s after
    // that.
    assert_eq!(one.brief(12 * SECOND, AskSpec::Charge { units: 2 }), (true, 2, 0, 50 * SECOND));
    assert_eq!(one.take(12 * SECOND, 1).retry_after_us, Some(25 * SECOND));
    // The streak has ended: the next block is the first again.
    assert_eq!(one.brief(62 * SECOND, AskSpec::Charge { units: 2 }), (true, 2, 0, 30 * SECOND));
}

#[test]
fn sets_by_hand() {
    let limit = |name: &str, amount| {
        let algorithm = AlgorithmSpec::SlidingLog { amount, period_us: SECOND, debt: false };
        (name.to_owned(), LimitSpec { name: name.to_owned(), algorithm })
    };
    let mut oracle = Oracle::new(&BTreeMap::from([limit("small", 1), limit("large", 5)]));
    let take = |limit: &str, units| CheckSpec {
        limit: limit.to_owned(),
        key: "alice".to_owned(),
        ask: AskSpec::Take { least: units, most: units, patience_us: None },
        or: false,
        period: None,
    };
    let mut set = |checks| {
        let answer = oracle.step(&Step { at: NOW, independent: false, checks, expect: None });
        let left: Vec<_> = answer.decisions.iter().map(|d| d.map(|d| d.remaining)).collect();
        (answer.admitted, left)
    };
    assert_eq!(set(vec![take("large", 2), take("small", 1)]), (true, vec![Some(3), Some(0)]));
    // Refused by the second: the first is not charged, and reports that.
    assert_eq!(set(vec![take("large", 2), take("small", 1)]), (false, vec![Some(3), Some(0)]));
    assert_eq!(set(vec![take("large", 1), take("large", 1)]), (true, vec![Some(2), Some(1)]));
    let alternative = CheckSpec { or: true, ..take("large", 1) };
    let grace = vec![take("small", 1), alternative.clone(), alternative];
    assert_eq!(set(grace), (true, vec![Some(0), Some(0), None]));
}

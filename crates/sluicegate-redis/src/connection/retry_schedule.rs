//! Retry times that all nodes share, so that they reconnect together.
//!
//! A node that reconnects late keeps admitting from its local share while the store already grants
//! the full rate to the others. So nodes do not choose their retry times independently: they
//! compute the same ones from the server's clock, which all of them follow.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use sluicegate_core::Time;

/// Average interval between two nodes that retry, because a hundred must not connect at once.
const SPACING: Duration = Duration::from_millis(2);

/// How long one of `nodes` nodes waits from `now`, by the server's clock, until it retries: at
/// least `least`, then until the next retry time. There is one retry time per `pause`.
pub(crate) fn wait(pause: Duration, least: Duration, nodes: u32, now: Time) -> Duration {
    let latest = micros(SPACING.saturating_mul(nodes)).min(slack(pause));
    let late = RandomState::new().hash_one("late") % latest.max(1);
    Duration::from_micros(until_next(pause, least, now).saturating_add(late))
}

/// How long it is until the next retry time.
///
/// One lies in each interval of a pause and a quarter, at a random point of its first tenth. So a
/// server that comes and goes periodically does not miss the retry time by the same small margin
/// every time for some of the nodes.
fn until_next(pause: Duration, least: Duration, now: Time) -> u64 {
    let slack = slack(pause);
    let interval = micros(pause).saturating_add(slack.saturating_mul(2));
    let earliest = now.as_micros().saturating_add(micros(least));
    let retry_time = |number: u64| {
        let random = mix(number) % slack;
        number.saturating_mul(interval).saturating_add(random)
    };
    let number = earliest / interval;
    let next = Some(retry_time(number)).filter(|retry_time| *retry_time >= earliest);
    let next = next.unwrap_or_else(|| retry_time(number.saturating_add(1)));
    next.saturating_sub(now.as_micros())
}

/// The most that a retry time may lie after the start of its interval, and a node's attempt after
/// the retry time. A node that was late at one has still paused at the next.
fn slack(pause: Duration) -> u64 {
    (micros(pause) / 8).max(1)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A pseudo-random number that is the same in every process: the last step of `SplitMix64`.
const fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(500);
    /// An arbitrary start.
    const START: u64 = 1_790_000_000_123_456;

    fn at(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    /// The first thousand retry times after [`START`].
    fn retry_times() -> Vec<u64> {
        let next = |from: u64| Some(from + 1 + until_next(PAUSE, Duration::ZERO, at(from + 1)));
        std::iter::successors(next(START), |last| next(*last)).take(1_000).collect()
    }

    #[test]
    fn between_two_retry_times_the_next_is_returned() {
        for pair in retry_times().windows(2) {
            let [first, second] = *pair else { panic!("two of them") };
            for now in [first + 1, first.midpoint(second), second - 1, second] {
                assert_eq!(now + until_next(PAUSE, Duration::ZERO, at(now)), second);
            }
        }
    }

    #[test]
    fn late_nodes_still_pause_and_miss_no_retry_time() {
        let retry_times = retry_times();
        for nodes in [1, 2, 30, 1_000, u32::MAX] {
            let mut now = retry_times[0];
            for retry_time in &retry_times[1..] {
                let wait = wait(PAUSE, PAUSE, nodes, at(now));
                assert!(wait >= PAUSE, "{wait:?} of {nodes} nodes");
                now += micros(wait);
                let late = now - retry_time;
                assert!(late <= 2_000 * u64::from(nodes) && late <= slack(PAUSE), "{late} µs late");
            }
        }
    }

    #[test]
    fn no_period_stays_close_to_the_retry_times() {
        let retry_times = retry_times();
        for period in (100_000..5_000_000).step_by(12_500) {
            let times = (0..100).map(|number| START + number * period);
            let close = times.filter(|time| {
                let next = retry_times.partition_point(|retry_time| retry_time < time);
                retry_times.get(next).is_some_and(|retry_time| retry_time - time < 4_000)
            });
            // Four of sixty milliseconds if the period equals that of the intervals; otherwise
            // fewer.
            assert!(close.count() <= 20, "every {period} µs");
        }
    }
}

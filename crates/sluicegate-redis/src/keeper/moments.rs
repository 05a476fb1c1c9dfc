//! The moments at which nodes try again: the same for all of them, so that they come back together.
//!
//! Who comes back later than others meanwhile hands out its share beside all that the store hands
//! out to them. So nodes do not choose a moment each: they work out the same ones from the server's
//! clock, which all of them know.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use sluicegate_core::Time;

/// Between two nodes that try again, on average: a hundred are not to come all at once.
const APART: Duration = Duration::from_millis(2);

/// How long one of so many nodes waits from `now`, by the server's clock, until it tries again: at
/// least so long, and then for the next of the moments that come once in a pause.
pub(super) fn wait(pause: Duration, least: Duration, nodes: u32, now: Time) -> Duration {
    let latest = micros(APART.saturating_mul(nodes)).min(slack(pause));
    let late = RandomState::new().hash_one("late") % latest.max(1);
    Duration::from_micros(until_next(pause, least, now).saturating_add(late))
}

/// How long it is until the next moment.
///
/// One lies in each stretch of a pause and a quarter, anywhere in its first tenth. A server that
/// comes and goes in a rhythm of its own so does not meet the same moment again and again, which
/// would be just too early for some of the nodes each time.
fn until_next(pause: Duration, least: Duration, now: Time) -> u64 {
    let slack = slack(pause);
    let stretch = micros(pause).saturating_add(slack.saturating_mul(2));
    let earliest = now.as_micros().saturating_add(micros(least));
    let moment = |number: u64| {
        let random = mixed(number) % slack;
        number.saturating_mul(stretch).saturating_add(random)
    };
    let number = earliest / stretch;
    let next = Some(moment(number)).filter(|moment| *moment >= earliest);
    let next = next.unwrap_or_else(|| moment(number.saturating_add(1)));
    next.saturating_sub(now.as_micros())
}

/// So much a moment may lie after the beginning of its stretch, and a node after the moment: who
/// was late at one has still paused at the next.
fn slack(pause: Duration) -> u64 {
    (micros(pause) / 8).max(1)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A number that looks random, and is the same in every process: the end of `SplitMix64`.
const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(500);
    /// Any time at all.
    const BEGAN: u64 = 1_790_000_000_123_456;

    fn at(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    /// The first thousand moments after [`BEGAN`].
    fn moments() -> Vec<u64> {
        let next = |from: u64| Some(from + 1 + until_next(PAUSE, Duration::ZERO, at(from + 1)));
        std::iter::successors(next(BEGAN), |last| next(*last)).take(1_000).collect()
    }

    #[test]
    fn whoever_asks_between_two_moments_is_told_the_second() {
        for pair in moments().windows(2) {
            let [first, second] = *pair else { panic!("two of them") };
            for asked in [first + 1, first.midpoint(second), second - 1, second] {
                assert_eq!(asked + until_next(PAUSE, Duration::ZERO, at(asked)), second);
            }
        }
    }

    #[test]
    fn a_node_pauses_between_two_attempts_however_late_it_is_and_misses_no_moment() {
        let moments = moments();
        for nodes in [1, 2, 30, 1_000, u32::MAX] {
            let mut now = moments[0];
            for moment in &moments[1..] {
                let wait = wait(PAUSE, PAUSE, nodes, at(now));
                assert!(wait >= PAUSE, "{wait:?} of {nodes} nodes");
                now += micros(wait);
                let late = now - moment;
                assert!(late <= 2_000 * u64::from(nodes) && late <= slack(PAUSE), "{late} µs late");
            }
        }
    }

    #[test]
    fn no_rhythm_meets_the_same_moment_again_and_again() {
        let moments = moments();
        for rhythm in (100_000..5_000_000).step_by(12_500) {
            let times = (0..100).map(|number| BEGAN + number * rhythm);
            let close = times.filter(|time| {
                let next = moments.partition_point(|moment| moment < time);
                moments.get(next).is_some_and(|moment| moment - time < 4_000)
            });
            // Four of sixty milliseconds, if it is the rhythm of the stretches; else fewer.
            assert!(close.count() <= 20, "each {rhythm} µs");
        }
    }
}

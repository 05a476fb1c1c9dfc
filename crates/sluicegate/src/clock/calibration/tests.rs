//! Simulated ticks and a simulated clock, both known exactly.

use super::*;
use sluicegate_testkit::Rng;

/// A processor of 2.6 GHz.
const HERTZ: u64 = 2_600_000_000;
const SECOND: u64 = 1_000_000_000;

/// The time at a tick, with ticks that last `slow_ppm` millionths longer than nominal.
fn nanos_at(ticks: u64, slow_ppm: i64) -> u64 {
    let exact = u128::from(ticks) * u128::from(SECOND) / u128::from(HERTZ);
    let millionths = u128::from(u64::try_from(1_000_000 + slow_ppm).unwrap());
    u64::try_from(exact * millionths / 1_000_000).unwrap()
}

fn reading(ticks: u64) -> Sample {
    Sample { ticks, nanos: nanos_at(ticks, 0) }
}

/// A calibrator that begins at `ticks` with a rate that is `wrong_ppm` too long.
fn calibrator(ticks: u64, wrong_ppm: i64) -> Calibrator {
    let now = reading(ticks);
    let watched = HERTZ / 50;
    let nanos = now.nanos - nanos_at(watched, wrong_ppm);
    Calibrator::begin(Sample { ticks: ticks - watched, nanos }, now).unwrap()
}

fn off_by(segment: Segment, ticks: u64) -> u64 {
    segment.at(ticks).abs_diff(nanos_at(ticks, 0))
}

const START: u64 = HERTZ * 1_000;

#[test]
fn stays_within_microseconds_of_a_jittery_clock_and_never_goes_back() {
    for wrong_ppm in [-50, 0, 50] {
        let mut dice = Rng::new(42);
        let mut calibrator = calibrator(START, wrong_ppm);
        let mut last = 0;
        let mut asked = 0;
        while asked < 1_000_000 {
            let segment = calibrator.segment();
            let mut ticks = segment.start;
            while ticks < segment.end() {
                let nanos = segment.at(ticks);
                assert!(nanos >= last, "{nanos} after {last}");
                assert!(off_by(segment, ticks) < 10_000, "{} ns off", off_by(segment, ticks));
                last = nanos;
                asked += 1;
                ticks += dice.below(Segment::LENGTH / 2_000) + 1;
            }
            let ticks =
                segment.start + Segment::FRESH + dice.below(Segment::LENGTH - Segment::FRESH);
            // Samples are up to 400 ns late, as if interrupted between the two clocks.
            let nanos = nanos_at(ticks, 0) + dice.below(400);
            let next = calibrator.follow(Sample { ticks, nanos }).unwrap();
            assert_eq!(next.start, segment.end(), "without a gap");
            assert_eq!(next.nanos, segment.at(segment.end()), "without a step");
        }
    }
}

#[test]
fn a_wrong_initial_rate_is_corrected_after_three_samples() {
    let mut calibrator = calibrator(START, 50);
    let first = calibrator.segment();
    assert_eq!(first.nanos, nanos_at(START, 0));
    for _ in 0..3 {
        let ticks = calibrator.segment().start + Segment::FRESH;
        calibrator.follow(reading(ticks)).unwrap();
    }
    let segment = calibrator.segment();
    assert!(off_by(segment, segment.end()) < 20, "{} ns off", off_by(segment, segment.end()));
}

#[test]
fn a_small_clock_error_is_corrected_within_one_segment() {
    let mut calibrator = calibrator(START, 0);
    let shift = 40_000;
    let follow = |calibrator: &mut Calibrator| {
        let Sample { ticks, nanos } = reading(calibrator.segment().start + Segment::FRESH);
        calibrator.follow(Sample { ticks, nanos: nanos + shift }).unwrap()
    };
    let segment = follow(&mut calibrator);
    assert_eq!(segment.nanos, nanos_at(segment.start, 0), "no step for 40 us");
    let met = segment.at(segment.end()) - nanos_at(segment.end(), 0);
    assert!(met.abs_diff(shift) < 50, "{met} ns of {shift}");
}

#[test]
fn a_rate_is_corrected_by_500_ppm_at_most() {
    let rate = 1 << 31;
    assert_eq!(corrected_rate(rate, 0, 0), rate);
    assert_eq!(corrected_rate(rate, 0, SECOND), rate + rate / 2_000);
    assert_eq!(corrected_rate(rate, SECOND, 0), rate - rate / 2_000);
    assert_eq!(
        corrected_rate(rate, 0, Segment::LENGTH / 4_096),
        rate + (1 << 20),
        "16 ns a tick of 2^-32"
    );
}

#[test]
fn a_clock_that_is_far_ahead_is_stepped_to() {
    for ahead in [1_100_000, 3_600 * SECOND] {
        let mut calibrator = calibrator(START, 0);
        let old = calibrator.segment();
        let Sample { ticks, nanos } = reading(old.start + Segment::FRESH);
        let segment = calibrator.follow(Sample { ticks, nanos: nanos + ahead }).unwrap();
        assert_eq!(segment.start, old.end());
        let off = segment.nanos.abs_diff(nanos_at(segment.start, 0) + ahead);
        assert!(off < 10, "{off} ns off");
        // One outlier does not change the rate.
        assert!(segment.rate.abs_diff(old.rate) < 100, "{} after {}", segment.rate, old.rate);
    }
}

#[test]
fn a_clock_that_is_behind_is_waited_for_unless_it_is_far_behind() {
    let behind = |by: u64| {
        let mut calibrator = calibrator(START, 0);
        let mut gaps = Vec::new();
        for _ in 0..4 {
            let Sample { ticks, nanos } = reading(calibrator.segment().start + Segment::FRESH);
            let old = calibrator.segment();
            let segment = calibrator.follow(Sample { ticks, nanos: nanos - by }).unwrap();
            assert_eq!(segment.nanos, old.at(old.end()), "never back");
            gaps.push(segment.at(segment.end()) - (nanos_at(segment.end(), 0) - by));
        }
        gaps
    };
    let closing = behind(SECOND / 2);
    assert!(closing.is_sorted_by(|a, b| a > b), "{closing:?}");
    let kept = behind(2 * SECOND);
    assert!(kept.iter().all(|gap| gap.abs_diff(2 * SECOND) < 100), "{kept:?}");
}

#[test]
fn a_clock_that_was_given_up_on_is_followed_from_then_on() {
    let mut calibrator = calibrator(START, 0);
    let mut follow = |behind: u64| {
        let Sample { ticks, nanos } = reading(calibrator.segment().start + Segment::FRESH);
        calibrator.follow(Sample { ticks, nanos: nanos - behind }).unwrap()
    };
    follow(2 * SECOND);
    let segment = follow(2 * SECOND - 40_000);
    let moved = segment.at(segment.end()) - nanos_at(segment.end(), 0);
    assert!(moved.abs_diff(40_000) < 200, "{moved} ns of 40 us");
}

#[test]
fn after_a_long_pause_it_resumes_from_the_clock() {
    for wrong_ppm in [-30, 30] {
        for pause in [Segment::LENGTH + 1, 3_600 * HERTZ, 30 * 86_400 * HERTZ, u64::MAX / 4] {
            let mut calibrator = calibrator(START, wrong_ppm);
            let old = calibrator.segment();
            let segment = calibrator.follow(reading(old.start + pause)).unwrap();
            assert_eq!(segment.start, old.start + pause);
            assert_eq!(segment.nanos, nanos_at(segment.start, 0).max(old.at(old.end())));
        }
    }
}

#[test]
fn a_pause_in_which_the_clock_stood_still_takes_nothing_back() {
    let mut calibrator = calibrator(START, 0);
    let old = calibrator.segment();
    let now = Sample { ticks: old.start + 3_600 * HERTZ, nanos: nanos_at(old.start, 0) };
    let segment = calibrator.follow(now).unwrap();
    assert_eq!(segment.nanos, old.at(old.end()));
}

#[test]
fn ticks_that_go_back_are_noticed() {
    let mut calibrator = calibrator(START, 0);
    assert_eq!(calibrator.follow(reading(START - 1)), None);
    assert!(calibrator.follow(reading(START)).is_some());
}

#[test]
fn impossible_tick_rates_are_rejected() {
    let first = Sample { ticks: 0, nanos: 0 };
    for (ticks, nanos) in [(1_000, 0), (0, 1_000), (1_000, 9_000), (1_000_000, 60_000)] {
        assert!(Calibrator::begin(first, Sample { ticks, nanos }).is_none(), "{nanos} in {ticks}");
    }
    assert!(Calibrator::begin(first, Sample { ticks: 1_000, nanos: 1_000 }).is_some());
}

#[test]
fn falling_back_to_the_os_clock_never_goes_back() {
    let calibrator = calibrator(START, 0);
    let latest = calibrator.segment().at(calibrator.segment().end());
    assert_eq!(calibrator.ahead_of(latest - 5), 5);
    assert_eq!(calibrator.ahead_of(latest + 5), 0);
}

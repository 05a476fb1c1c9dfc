//! Invented ticks and an invented clock, both known exactly.

use super::*;

/// A processor of 2.6 GHz.
const HERTZ: u64 = 2_600_000_000;
const SECOND: u64 = 1_000_000_000;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// The time at a tick, with ticks that last so many millionths longer than they should.
fn nanos_at(ticks: u64, slow_ppm: i64) -> u64 {
    let exact = u128::from(ticks) * u128::from(SECOND) / u128::from(HERTZ);
    let millionths = u128::from(u64::try_from(1_000_000 + slow_ppm).unwrap());
    u64::try_from(exact * millionths / 1_000_000).unwrap()
}

fn reading(ticks: u64) -> Reading {
    Reading { ticks, nanos: nanos_at(ticks, 0) }
}

/// One that begins at `ticks`, believing that ticks last so many millionths longer than they do.
fn follower(ticks: u64, wrong_ppm: i64) -> Follower {
    let now = reading(ticks);
    let watched = HERTZ / 50;
    let nanos = now.nanos - nanos_at(watched, wrong_ppm);
    Follower::begin(Reading { ticks: ticks - watched, nanos }, now).unwrap()
}

fn off_by(line: Line, ticks: u64) -> u64 {
    line.at(ticks).abs_diff(nanos_at(ticks, 0))
}

const START: u64 = HERTZ * 1_000;

#[test]
fn stays_within_microseconds_of_a_jittery_clock_and_never_goes_back() {
    for wrong_ppm in [-50, 0, 50] {
        let mut dice = Dice(42);
        let mut follower = follower(START, wrong_ppm);
        let mut last = 0;
        let mut asked = 0;
        while asked < 1_000_000 {
            let line = follower.line();
            let mut ticks = line.start;
            while ticks < line.end() {
                let nanos = line.at(ticks);
                assert!(nanos >= last, "{nanos} after {last}");
                assert!(off_by(line, ticks) < 10_000, "{} ns off", off_by(line, ticks));
                last = nanos;
                asked += 1;
                ticks += dice.below(Line::LENGTH / 2_000) + 1;
            }
            let ticks = line.start + Line::FRESH + dice.below(Line::LENGTH - Line::FRESH);
            // Readings are up to 400 ns late, as if interrupted between the two clocks.
            let nanos = nanos_at(ticks, 0) + dice.below(400);
            let next = follower.follow(Reading { ticks, nanos }).unwrap();
            assert_eq!(next.start, line.end(), "without a gap");
            assert_eq!(next.nanos, line.at(line.end()), "without a step");
        }
    }
}

#[test]
fn what_it_believes_at_first_is_forgotten_after_three_readings() {
    let mut follower = follower(START, 50);
    let first = follower.line();
    assert_eq!(first.nanos, nanos_at(START, 0));
    for _ in 0..3 {
        let ticks = follower.line().start + Line::FRESH;
        follower.follow(reading(ticks)).unwrap();
    }
    let line = follower.line();
    assert!(off_by(line, line.end()) < 20, "{} ns off", off_by(line, line.end()));
}

#[test]
fn a_clock_that_is_a_little_off_is_met_within_one_line() {
    let mut follower = follower(START, 0);
    let shift = 40_000;
    let follow = |follower: &mut Follower| {
        let Reading { ticks, nanos } = reading(follower.line().start + Line::FRESH);
        follower.follow(Reading { ticks, nanos: nanos + shift }).unwrap()
    };
    let line = follow(&mut follower);
    assert_eq!(line.nanos, nanos_at(line.start, 0), "no step for 40 us");
    let met = line.at(line.end()) - nanos_at(line.end(), 0);
    assert!(met.abs_diff(shift) < 50, "{met} ns of {shift}");
}

#[test]
fn a_line_is_bent_by_500_millionths_at_most() {
    let rate = 1 << 31;
    assert_eq!(hastened(rate, 0, 0), rate);
    assert_eq!(hastened(rate, 0, SECOND), rate + rate / 2_000);
    assert_eq!(hastened(rate, SECOND, 0), rate - rate / 2_000);
    assert_eq!(hastened(rate, 0, Line::LENGTH / 4_096), rate + (1 << 20), "16 ns a tick of 2^-32");
}

#[test]
fn a_clock_that_is_far_ahead_is_stepped_to() {
    for ahead in [1_100_000, 3_600 * SECOND] {
        let mut follower = follower(START, 0);
        let old = follower.line();
        let Reading { ticks, nanos } = reading(old.start + Line::FRESH);
        let line = follower.follow(Reading { ticks, nanos: nanos + ahead }).unwrap();
        assert_eq!(line.start, old.end());
        let off = line.nanos.abs_diff(nanos_at(line.start, 0) + ahead);
        assert!(off < 10, "{off} ns off");
        // One strange reading does not change how long ticks last.
        assert!(line.rate.abs_diff(old.rate) < 100, "{} after {}", line.rate, old.rate);
    }
}

#[test]
fn a_clock_that_is_behind_is_waited_for_unless_it_is_far_behind() {
    let behind = |by: u64| {
        let mut follower = follower(START, 0);
        let mut gaps = Vec::new();
        for _ in 0..4 {
            let Reading { ticks, nanos } = reading(follower.line().start + Line::FRESH);
            let old = follower.line();
            let line = follower.follow(Reading { ticks, nanos: nanos - by }).unwrap();
            assert_eq!(line.nanos, old.at(old.end()), "never back");
            gaps.push(line.at(line.end()) - (nanos_at(line.end(), 0) - by));
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
    let mut follower = follower(START, 0);
    let mut follow = |behind: u64| {
        let Reading { ticks, nanos } = reading(follower.line().start + Line::FRESH);
        follower.follow(Reading { ticks, nanos: nanos - behind }).unwrap()
    };
    follow(2 * SECOND);
    let line = follow(2 * SECOND - 40_000);
    let moved = line.at(line.end()) - nanos_at(line.end(), 0);
    assert!(moved.abs_diff(40_000) < 200, "{moved} ns of 40 us");
}

#[test]
fn after_a_long_pause_it_goes_on_from_the_clock() {
    for wrong_ppm in [-30, 30] {
        for pause in [Line::LENGTH + 1, 3_600 * HERTZ, 30 * 86_400 * HERTZ, u64::MAX / 4] {
            let mut follower = follower(START, wrong_ppm);
            let old = follower.line();
            let line = follower.follow(reading(old.start + pause)).unwrap();
            assert_eq!(line.start, old.start + pause);
            assert_eq!(line.nanos, nanos_at(line.start, 0).max(old.at(old.end())));
        }
    }
}

#[test]
fn a_pause_in_which_the_clock_stood_still_takes_nothing_back() {
    let mut follower = follower(START, 0);
    let old = follower.line();
    let now = Reading { ticks: old.start + 3_600 * HERTZ, nanos: nanos_at(old.start, 0) };
    let line = follower.follow(now).unwrap();
    assert_eq!(line.nanos, old.at(old.end()));
}

#[test]
fn ticks_that_go_back_are_noticed() {
    let mut follower = follower(START, 0);
    assert_eq!(follower.follow(reading(START - 1)), None);
    assert!(follower.follow(reading(START)).is_some());
}

#[test]
fn ticks_that_no_processor_has_are_not_believed() {
    let first = Reading { ticks: 0, nanos: 0 };
    for (ticks, nanos) in [(1_000, 0), (0, 1_000), (1_000, 9_000), (1_000_000, 60_000)] {
        assert!(Follower::begin(first, Reading { ticks, nanos }).is_none(), "{nanos} in {ticks}");
    }
    assert!(Follower::begin(first, Reading { ticks: 1_000, nanos: 1_000 }).is_some());
}

#[test]
fn who_goes_on_without_ticks_goes_on_from_the_later_time() {
    let follower = follower(START, 0);
    let told = follower.line().at(follower.line().end());
    assert_eq!(follower.ahead_of(told - 5), 5);
    assert_eq!(follower.ahead_of(told + 5), 0);
}

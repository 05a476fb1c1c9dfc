//! The cost of reading the time.
//!
//! `cargo bench -p sluicegate --bench clock` prints nanoseconds, medians of several rounds.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::hint::black_box;
use std::time::{Instant, SystemTime};

use sluicegate::{Clock, SystemClock};

const ROUNDS: usize = 41;
const READS: u32 = 200_000;

/// A clock with its name.
type Case<'a> = (&'static str, &'a dyn Fn());

fn reads<T>(read: impl Fn() -> T) -> impl Fn() {
    move || {
        for _ in 0..READS {
            black_box(read());
        }
    }
}

fn main() {
    let since = Instant::now();
    let clock = SystemClock::new();
    let instant = reads(Instant::now);
    let wall = reads(SystemTime::now);
    let elapsed = reads(|| since.elapsed().as_micros());
    let calibrated = quanta::Clock::new();
    let quanta = reads(|| calibrated.now());
    let system = reads(|| clock.now());
    let cases: [Case<'_>; 5] = [
        ("Instant::now", &instant),
        ("SystemTime::now", &wall),
        ("Instant::elapsed in microseconds", &elapsed),
        ("quanta::Clock::now", &quanta),
        ("SystemClock::now", &system),
    ];
    // All cases in turn, several times over, so that disturbances of the machine affect all alike.
    let mut times = [const { Vec::new() }; 5];
    for _ in 0..ROUNDS {
        for ((_, case), times) in cases.iter().zip(&mut times) {
            let start = Instant::now();
            case();
            times.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(READS));
        }
    }
    println!("{:<44} {:>9}", "reading", "median ns");
    for ((name, _), times) in cases.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{name:<44} {:>9.1}", times[ROUNDS / 2]);
    }
}

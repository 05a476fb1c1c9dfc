//! The cost of a decision without clock and map, compared with a minimal bucket.
//!
//! `cargo bench -p sluicegate-core` prints nanoseconds, medians of several rounds.
//! `scripts/bench` adds instruction counts: it runs one case alone under valgrind, with
//! `count CASE ROUNDS`, for two numbers of rounds and takes the difference.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods)]

use std::hint::black_box;
use std::time::Instant;

use sluicegate_core::{
    CellRef, ChargeId, Check, Cost, Decision, Limit, Period, Set, Slices, Span, State, Time, decide,
};

const START: u64 = 1_767_225_600_000_000;
const ROUNDS: usize = 21;
const STEPS: u64 = 200_000;

/// A bucket of whole microseconds and nothing else: the minimal work of any limiter.
struct Floor {
    full_at: u64,
    unit: u64,
    full: u64,
}

impl Floor {
    #[inline(never)]
    fn check(&mut self, now: u64, cost: u64) -> (bool, u64, u64) {
        let level = self.full_at.max(now) + cost * self.unit;
        let allowed = level <= now + self.full;
        if allowed {
            self.full_at = level;
        }
        (allowed, (now + self.full).saturating_sub(level) / self.unit, level - now)
    }
}

/// Counters of some limits, used together.
struct Bench {
    limits: Vec<Limit>,
    cells: Vec<State>,
    places: Vec<CellRef>,
    decisions: Vec<Option<Decision>>,
}

impl Bench {
    fn new(limits: Vec<Limit>) -> Self {
        let count = limits.len();
        Self {
            limits,
            cells: vec![State::Vacant; count],
            places: (0..count).map(CellRef::cell).collect(),
            decisions: vec![None; count],
        }
    }

    fn run(&mut self, steps: u64, gap: u64) -> u64 {
        let period = Period::new(Time::from_micros(START), Time::from_micros(START * 2));
        let checks: Vec<Check<'_>> = self
            .limits
            .iter()
            .map(|limit| Check::new(limit, b"key").cost(Cost::ONE).within(period.unwrap()))
            .collect();
        let mut now = START;
        let mut admitted = 0;
        for step in 0..steps {
            now += gap;
            let set = Set::all(black_box(&checks), ChargeId::from_bits(u128::from(step) << 8));
            let now = Time::from_micros(black_box(now));
            let ruling = decide(&set, now, &self.places, &mut self.cells, &mut self.decisions);
            admitted += u64::from(ruling == sluicegate_core::Ruling::Admitted);
            black_box(&self.decisions);
        }
        admitted
    }
}

fn bucket(text: &str) -> Limit {
    Limit::token_bucket("limit", text.parse().unwrap()).unwrap()
}

/// Runs a case; `gap` is the time between two requests.
fn run(case: &str, steps: u64) -> u64 {
    let window =
        |text: &str, slices| Limit::sliding_window("limit", text.parse().unwrap(), slices).unwrap();
    let (limits, gap) = match case {
        "floor" => {
            let mut floor = Floor { full_at: 0, unit: 10, full: 10_000 };
            let mut now = START;
            return (0..steps)
                .map(|_| {
                    now += 10;
                    u64::from(black_box(floor.check(black_box(now), black_box(1))).0)
                })
                .sum();
        }
        "token bucket, allowed" => (vec![bucket("100000/s burst 1000")], 10),
        "token bucket, refused" => (vec![bucket("1/day burst 1")], 10),
        "token bucket, odd rate, allowed" => (vec![bucket("333333/s burst 1000")], 10),
        "five token buckets, allowed" => (vec![bucket("100000/s burst 1000"); 5], 10),
        "five token buckets, last refuses" => {
            let mut limits = vec![bucket("100000/s burst 1000"); 4];
            limits.push(bucket("1/day burst 1"));
            (limits, 10)
        }
        "queue, allowed" => (vec![Limit::queue("limit", "100000/s".parse().unwrap()).unwrap()], 10),
        "fixed window, allowed" => {
            (vec![Limit::fixed_window("limit", "4000000000/day".parse().unwrap()).unwrap()], 10)
        }
        "sliding window, 1 slice, allowed" => {
            (vec![window("100000000/min", Slices::Weighted(1))], 10)
        }
        "sliding window, 10 strict slices, allowed" => {
            (vec![window("100000000/min", Slices::Strict(10))], 10)
        }
        "sliding log of 100, allowed" => {
            (vec![Limit::sliding_log("limit", "100/s".parse().unwrap()).unwrap()], 11_000)
        }
        "concurrency, refused" => {
            (vec![Limit::concurrency("limit", 10, Span::from_secs(3_600)).unwrap()], 1)
        }
        other => unreachable!("no case called {other}"),
    };
    Bench::new(limits).run(steps, gap)
}

const CASES: [&str; 12] = [
    "floor",
    "token bucket, allowed",
    "token bucket, refused",
    "token bucket, odd rate, allowed",
    "five token buckets, allowed",
    "five token buckets, last refuses",
    "queue, allowed",
    "fixed window, allowed",
    "sliding window, 1 slice, allowed",
    "sliding window, 10 strict slices, allowed",
    "sliding log of 100, allowed",
    "concurrency, refused",
];

#[allow(clippy::cast_precision_loss, reason = "for people to read")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [count, case, steps] = &arguments[..]
        && count == "count"
    {
        println!("{}", run(case, steps.parse().unwrap()));
        return;
    }
    if arguments.first().is_some_and(|argument| argument == "cases") {
        for case in CASES {
            println!("{case}");
        }
        return;
    }
    // All cases in turn, several times over, so that disturbances of the machine affect all alike.
    let mut times = vec![Vec::new(); CASES.len()];
    for _ in 0..ROUNDS {
        for (case, times) in CASES.iter().zip(&mut times) {
            let start = Instant::now();
            black_box(run(case, STEPS));
            times.push(start.elapsed().as_nanos() as f64 / STEPS as f64);
        }
    }
    println!("{:<44} {:>9}", "decision", "median ns");
    for (case, times) in CASES.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{case:<44} {:>9.1}", times[ROUNDS / 2]);
    }
}

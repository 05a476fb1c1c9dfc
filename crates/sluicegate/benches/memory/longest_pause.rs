//! The longest single check while new keys are inserted and the store grows.
//!
//! A shared machine takes the processor away occasionally, which looks like a long check. So there
//! are two passes: one measures wall-clock time only, the other also the processor time of the
//! thread, which does not advance while the thread is off the processor.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use crate::contender::{GOVERNOR, OURS};
use crate::keys;
use crate::stopwatch::{ElapsedTimes, Stopwatch};
use crate::subprocess::{self, newcomer};
use crate::table::{grouped, head, row};

const KEPT: usize = 5;
/// A check that takes more counts as long.
const LONG: Duration = Duration::from_micros(200);

pub(crate) fn compare(size: usize) {
    let title = format!("Longest single check while {} keys are inserted: µs", grouped(size));
    let long = format!("checks above {LONG:?}");
    let columns = [
        "contender",
        "five longest by the clock",
        "second pass: by the clock (of that on the processor)",
        &long,
        "most time on the processor",
        "aim",
    ];
    head(&title, &columns);
    for (contender, aim) in [(OURS, "≤ 1000"), (GOVERNOR, "–")] {
        let numbers = subprocess::ask(subprocess::LONGEST, contender, size);
        let (first, rest) = numbers.split_at(KEPT);
        let (second, rest) = rest.split_at(KEPT * 2);
        let first: Vec<_> = first.iter().map(|wall| format!("{wall:.0}")).collect();
        let second: Vec<_> =
            second.chunks(2).map(|pair| format!("{:.0} ({:.0})", pair[0], pair[1])).collect();
        row(&[
            contender.to_owned(),
            first.join(", "),
            second.join(", "),
            format!("{:.0}", rest[0]),
            format!("{:.0}", rest[1]),
            aim.to_owned(),
        ]);
    }
}

/// Runs in a process of its own: prints the longest of the first pass, the longest of the second
/// in pairs, the number of long ones, and the most processor time of one check.
pub(crate) fn measure(contender: &str, size: usize) {
    let first = pass(contender, size, |meet| {
        let start = Instant::now();
        meet();
        ElapsedTimes { by_the_clock: start.elapsed(), ..ElapsedTimes::default() }
    });
    for taken in first.longest {
        println!("{}", taken.by_the_clock.as_micros());
    }
    let second = pass(contender, size, |meet| {
        let watch = Stopwatch::start();
        meet();
        watch.stop()
    });
    for taken in second.longest {
        println!("{} {}", taken.by_the_clock.as_micros(), taken.on_the_processor.as_micros());
    }
    println!("{} {}", second.long, second.most_processor.as_micros());
}

#[derive(Default)]
struct InsertPass {
    /// The longest by the clock first.
    longest: [ElapsedTimes; KEPT],
    long: usize,
    most_processor: Duration,
}

fn pass(
    contender: &str,
    size: usize,
    time: impl Fn(&mut dyn FnMut()) -> ElapsedTimes,
) -> InsertPass {
    let mut key = String::new();
    // Never freed, so that the second pass does not find memory warmed by the first.
    let meet = Box::leak(newcomer(contender, size));
    let mut pass = InsertPass::default();
    for number in 0..size {
        key.clear();
        keys::append(&mut key, number);
        pass.note(time(&mut || meet(&key)));
    }
    pass
}

impl InsertPass {
    fn note(&mut self, taken: ElapsedTimes) {
        self.long += usize::from(taken.by_the_clock > LONG);
        self.most_processor = self.most_processor.max(taken.on_the_processor);
        let shortest = &mut self.longest[KEPT - 1];
        if taken.by_the_clock > shortest.by_the_clock {
            *shortest = taken;
            self.longest.sort_by_key(|taken| Reverse(taken.by_the_clock));
        }
    }
}

//! The cost of a check on the memory store, compared with a minimal table and with `governor`.
//!
//! Prints Markdown tables, with the target next to each ratio.
//!
//! ```text
//! cargo bench -p sluicegate --bench memory                    everything, about five minutes
//! cargo bench -p sluicegate --bench memory -- quick           fewer rounds, 100,000 keys
//! cargo bench -p sluicegate --bench memory -- keys 1000000    some parts, other numbers of keys
//! ```
//!
//! The parts are `hot`, `keys`, `batches`, `sets`, `bytes`, `longest` and `snapshot`.
//! `scripts/bench` adds instruction counts: it runs one case alone under valgrind, with
//! `count CASE TIMES`.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, times, and stops at the first surprise"
)]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures for people to read"
)]
#![allow(clippy::inline_always, reason = "it shares a hash with the store that is inlined")]

mod batches_and_sets;
mod contender;
mod contenders;
mod fingerprint;
mod floor;
mod growth;
mod instruction_count;
mod keys;
mod longest_pause;
mod rounds;
mod snapshot;
mod speed;
mod stopwatch;
mod subprocess;
mod table;

use std::env;

use crate::rounds::Scale;

/// The parts to run, and their sizes.
struct Selection {
    parts: Vec<String>,
    sizes: Vec<usize>,
    scale: Scale,
}

const PARTS: [&str; 7] = ["hot", "keys", "batches", "sets", "bytes", "longest", "snapshot"];

impl Selection {
    fn read(arguments: &[String]) -> Self {
        let mut selection = Self { parts: Vec::new(), sizes: Vec::new(), scale: Scale::FULL };
        let mut quick = false;
        for argument in arguments {
            if argument == "quick" {
                quick = true;
            } else if let Ok(size) = argument.parse() {
                selection.sizes.push(size);
            } else {
                assert!(PARTS.contains(&argument.as_str()), "no part called {argument}: {PARTS:?}");
                selection.parts.push(argument.clone());
            }
        }
        if quick {
            selection.scale = Scale::QUICK;
        }
        if selection.sizes.is_empty() {
            selection.sizes = if quick { vec![100_000] } else { vec![1_000_000, 10_000_000] };
        }
        selection
    }

    fn has(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|wanted| wanted == part)
    }
}

fn main() {
    // Cargo adds `--bench` to the arguments.
    let arguments: Vec<String> = env::args().skip(1).filter(|text| text != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["cases"] => instruction_count::list(),
        ["count", case, times] => instruction_count::run(case, times.parse().unwrap()),
        [subprocess::GROWTH, contender, keys] => growth::measure(contender, keys.parse().unwrap()),
        [subprocess::LONGEST, contender, keys] => {
            longest_pause::measure(contender, keys.parse().unwrap());
        }
        _ => compare(&Selection::read(&arguments)),
    }
}

fn compare(selection: &Selection) {
    let Scale { rounds, steps } = selection.scale;
    println!(
        "Medians of {rounds} rounds of {steps} checks per thread, contenders in turn; one thread by \
         its time on the processor, two by the clock."
    );
    if selection.has("hot") {
        speed::hot(selection.scale);
    }
    let (keys, batches) = (selection.has("keys"), selection.has("batches"));
    for size in selection.sizes.iter().filter(|_| keys || batches) {
        speed::many(*size, selection.scale, keys, batches);
    }
    if selection.has("sets") {
        speed::sets(selection.sizes[0], selection.scale);
    }
    if selection.has("bytes") {
        growth::compare(&selection.sizes);
    }
    if selection.has("longest") {
        longest_pause::compare(selection.sizes.iter().copied().max().unwrap());
    }
    if selection.has("snapshot") {
        snapshot::compare(selection.sizes.iter().copied().max().unwrap(), selection.scale);
    }
}

//! What a shared decision costs: the server's processor and ours, the wait, and the server's memory.
//! Prints Markdown tables, with what is aimed for next to each figure.
//!
//! ```text
//! cargo bench -p sluicegate-redis --bench redis                    everything, two to four minutes
//! cargo bench -p sluicegate-redis --bench redis -- full            more rounds, ten million callers: ten
//! cargo bench -p sluicegate-redis --bench redis -- cost redis      some parts, on one server
//! ```
//!
//! The parts are `cost`, `cluster`, `wait`, `denied` and `bytes`. `count TIMES` and `count-cluster TIMES`
//! only decide so many times, so that `scripts/bench` can count instructions with valgrind. The server runs on one core, and
//! all the rest on another.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a benchmark prints, times, and stops at the first surprise"
)]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures for people to read"
)]

mod bytes;
mod callers;
mod cluster;
mod cores;
mod cost;
mod count;
mod denied;
mod floor;
mod ground;
mod load;
mod pipeline;
mod recording;
mod table;
mod wait;

use std::env;

use sluicegate_testkit::Kind;

use crate::cost::Calls;

/// How much is enough.
#[derive(Clone, Copy)]
struct Scale {
    rounds: usize,
    /// Decisions of each case in a round.
    decisions: usize,
    /// Callers that are to fit into memory.
    callers: usize,
}

const QUICK: Scale = Scale { rounds: 3, decisions: 60_000, callers: 1_000_000 };
const FULL: Scale = Scale { rounds: 9, decisions: 120_000, callers: 10_000_000 };

fn main() {
    // Cargo adds `--bench` to what it was given.
    let arguments: Vec<String> = env::args().skip(1).filter(|text| text != "--bench").collect();
    match &arguments[..] {
        [first, times] if first == "count" => return count::on_one(times.parse().unwrap()),
        [first, times] if first == "count-cluster" => {
            return count::on_cluster(times.parse().unwrap());
        }
        _ => {}
    }
    let known = ["cost", "cluster", "wait", "denied", "bytes", "full", "redis", "valkey"];
    for argument in &arguments {
        assert!(known.contains(&argument.as_str()), "no part called {argument}: {known:?}");
    }
    let says = |word: &str| arguments.iter().any(|argument| argument == word);
    let all = !["cost", "cluster", "wait", "denied", "bytes"].iter().any(|part| says(part));
    let both = says("redis") == says("valkey");
    let kinds = [(Kind::Redis, "redis"), (Kind::Valkey, "valkey")];
    let scale = if says("full") { FULL } else { QUICK };
    println!("Medians of {} rounds, cases in turn.", scale.rounds);
    cores::keep_to_ours();
    let calls = (all || says("cost")).then(Calls::record);
    for (kind, _) in kinds.into_iter().filter(|(_, name)| both || says(name)) {
        if let Some(calls) = &calls {
            cost::compare(kind, calls, scale);
        }
        if all || says("cluster") {
            cluster::compare(kind, scale);
        }
        if all || says("wait") {
            wait::measure(kind, scale);
        }
        if all || says("denied") {
            denied::measure(kind, scale);
        }
        if all || says("bytes") {
            bytes::measure(kind, scale);
        }
    }
}

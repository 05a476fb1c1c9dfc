//! The cost of a shared decision: processor time of server and client, latency, and memory of the
//! server. Prints Markdown tables with the target next to each figure.
//!
//! ```text
//! cargo bench -p sluicegate-redis --bench redis                    everything, two to four minutes
//! cargo bench -p sluicegate-redis --bench redis -- full            more rounds and callers: ten
//! cargo bench -p sluicegate-redis --bench redis -- cost redis      some parts, on one server
//! ```
//!
//! The parts are `cost`, `cluster`, `wait`, `denied` and `bytes`. `count TIMES` and
//! `count-cluster TIMES` only decide that many times, so that `scripts/bench` can count
//! instructions with valgrind. The server runs on one core, and all the rest on another.

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
mod cost;
mod cpu_affinity;
mod deny_cache;
mod floor;
mod instruction_count;
mod latency;
mod load;
mod pipeline;
mod recorded_commands;
mod setup;
mod table;

use std::env;

use sluicegate_testkit::ServerKind;

use crate::cost::Calls;

/// How much to measure.
#[derive(Clone, Copy)]
struct Scale {
    rounds: usize,
    /// Decisions of each case in a round.
    decisions: usize,
    /// Callers that have to fit into memory.
    callers: usize,
}

const QUICK: Scale = Scale { rounds: 3, decisions: 60_000, callers: 1_000_000 };
const FULL: Scale = Scale { rounds: 9, decisions: 120_000, callers: 10_000_000 };

fn main() {
    // Cargo adds `--bench` to the arguments.
    let arguments: Vec<String> = env::args().skip(1).filter(|text| text != "--bench").collect();
    match &arguments[..] {
        [first, times] if first == "count" => {
            return instruction_count::on_one(times.parse().unwrap());
        }
        [first, times] if first == "count-cluster" => {
            return instruction_count::on_cluster(times.parse().unwrap());
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
    let kinds = [(ServerKind::Redis, "redis"), (ServerKind::Valkey, "valkey")];
    let scale = if says("full") { FULL } else { QUICK };
    println!("Medians of {} rounds, cases in turn.", scale.rounds);
    cpu_affinity::keep_to_ours();
    let calls = (all || says("cost")).then(Calls::record);
    for (kind, _) in kinds.into_iter().filter(|(_, name)| both || says(name)) {
        if let Some(calls) = &calls {
            cost::compare(kind, calls, scale);
        }
        if all || says("cluster") {
            cluster::compare(kind, scale);
        }
        if all || says("wait") {
            latency::measure(kind, scale);
        }
        if all || says("denied") {
            deny_cache::measure(kind, scale);
        }
        if all || says("bytes") {
            bytes::measure(kind, scale);
        }
    }
}

//! What a shared decision costs: the server, us, the wait and the memory.

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

mod callers;
mod cost;
mod floor;
mod ground;
mod load;
mod pipeline;
mod recording;
mod table;

use tollgate_testbed::Kind;

fn main() {
    let calls = cost::Calls::record();
    let kinds = if std::env::var("KIND").is_ok_and(|k| k == "v") { vec![Kind::Valkey] } else if std::env::var("KIND").is_ok() { vec![Kind::Redis] } else { Kind::ALL.to_vec() };
    for kind in kinds {
        cost::compare(kind, &calls, cost::Scale { rounds: std::env::var("ROUNDS").map_or(3, |r| r.parse().unwrap()), decisions: 100_000 });
    }
}

//! Limits of every algorithm for tests.

use sluicegate::{Limit, Slices, Span};

/// Returns one limit of every algorithm that grants `capacity` units at once.
///
/// Buckets refill a unit per `period`, windows their amount. Cooldowns have no capacity and are
/// not included.
pub fn every_algorithm(capacity: u32, period: &str) -> Vec<Limit> {
    let quota = |text: String| text.parse().expect("a quota");
    let bucket = || quota(format!("1/{period} burst {capacity}"));
    let window = || quota(format!("{capacity}/{period}"));
    // A queue has one place more than its burst.
    let queue = quota(format!("1/{period} burst {}", capacity - 1));
    vec![
        Limit::token_bucket("token", bucket()),
        Limit::leaky_bucket("leaky", bucket()),
        Limit::queue("queue", queue),
        Limit::fixed_window("fixed", window()),
        Limit::sliding_window("weighted", window(), Slices::Weighted(4)),
        Limit::sliding_window("strict", window(), Slices::Strict(10)),
        Limit::sliding_log("log", window()),
        Limit::concurrency("concurrency", capacity, Span::from_secs(600)),
    ]
    .into_iter()
    .collect::<Result<_, _>>()
    .expect("limits")
}

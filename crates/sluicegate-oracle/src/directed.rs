//! The directed cases: sequences of steps around each edge.

mod bucket;
mod common;
mod concurrency;
mod cooldown;
mod fixed_window;
mod queue;
mod refunds;
mod sets;
mod sliding_log;
mod sliding_window;
mod story;
mod terms;
mod tiers;

use crate::trace::{AlgorithmSpec, Case, VectorFile};

/// Every file of vectors with its name, expected values filled in.
pub fn vector_files() -> Vec<(&'static str, VectorFile)> {
    vec![
        file(
            "token_bucket.json",
            "A token bucket: tokens come back continuously, up to a burst.",
            bucket::cases(AlgorithmSpec::TokenBucket),
        ),
        file(
            "leaky_bucket.json",
            "A leaky bucket as a meter: identical to the token bucket in every answer.",
            bucket::cases(AlgorithmSpec::LeakyBucket),
        ),
        file(
            "queue.json",
            "A leaky bucket as a queue: it delays, in order, up to so many places.",
            queue::cases(),
        ),
        file(
            "fixed_window.json",
            "A count per period, where each check hands in the period that contains now.",
            fixed_window::cases(),
        ),
        file(
            "sliding_window.json",
            "Counts per block of a sliding window, the oldest block by its share or whole.",
            sliding_window::cases(),
        ),
        file(
            "sliding_log.json",
            "Every grant with its time: exact in any window.",
            sliding_log::cases(),
        ),
        file(
            "concurrency.json",
            "Slots that are held until released, or until the lease runs out.",
            concurrency::cases(),
        ),
        file(
            "cooldown.json",
            "A block after too many failures, longer each time.",
            cooldown::cases(),
        ),
        file(
            "sets.json",
            "Several checks decided together: all of them are charged, or none.",
            sets::cases(),
        ),
        file(
            "tiers.json",
            "A caller changes its tier: the units it used carry over, once and never as a debt.",
            tiers::cases(),
        ),
        file(
            "refunds.json",
            "Units that come back without a receipt: the newest first, and never more than are \
             used.",
            refunds::cases(),
        ),
    ]
}

fn file(name: &'static str, about: &str, cases: Vec<Case>) -> (&'static str, VectorFile) {
    (name, VectorFile { about: about.to_owned(), cases })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_within_a_file() {
        for (name, file) in vector_files() {
            let names: BTreeSet<&String> = file.cases.iter().map(|case| &case.name).collect();
            assert_eq!(names.len(), file.cases.len(), "in {name}");
        }
    }

    #[test]
    fn both_kinds_of_bucket_answer_alike() {
        let steps = |cases: Vec<Case>| cases.into_iter().map(|case| case.steps).collect::<Vec<_>>();
        let token = steps(bucket::cases(AlgorithmSpec::TokenBucket));
        assert_eq!(token, steps(bucket::cases(AlgorithmSpec::LeakyBucket)));
    }
}

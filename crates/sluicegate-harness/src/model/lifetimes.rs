//! How long a shared store may keep its keys.

use sluicegate_oracle::trace::AlgorithmSpec;

use super::limit::{self, Limit};
use crate::rule_file::RuleFile;

/// A charge can be settled for at least this long.
const SETTLED_US: u64 = 600_000_000;
/// The few seconds that a key may live longer than the recovery of its counters.
const SLACK_US: u64 = 3_000_000;

/// The longest recoveries of all limits of a case so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lifetimes {
    buckets_us: u64,
    others_us: u64,
}

impl Lifetimes {
    pub(super) fn learn_file(&mut self, file: &RuleFile) {
        for rule in &file.rules {
            let limits = limit::all_of(file, rule, None).into_iter();
            let cooldown = rule.cooldown.iter().map(|cooldown| limit::of_cooldown(rule, cooldown));
            limits.chain(cooldown).for_each(|limit| self.learn(&limit));
        }
    }

    pub(super) fn learn(&mut self, limit: &Limit) {
        let recovery = limit.recovery_us.unwrap_or(0);
        let longest = match limit.spec {
            AlgorithmSpec::TokenBucket(ref bucket)
            | AlgorithmSpec::LeakyBucket(ref bucket)
            | AlgorithmSpec::Queue(ref bucket) => {
                // A debt is at most the capacity.
                let longest = recovery.saturating_mul(1 + u64::from(bucket.debt));
                self.buckets_us = self.buckets_us.max(longest);
                return;
            }
            // The block that the window is leaving counts, too.
            AlgorithmSpec::SlidingWindow { period_us, slices, .. } => {
                period_us + period_us.div_ceil(slices)
            }
            AlgorithmSpec::Concurrency { lease_us, .. } => lease_us,
            AlgorithmSpec::Cooldown { within_us, block_us, ref escalation, pending_us, .. } => {
                let block = escalation.as_ref().map_or(block_us, |it| block_us.max(it.max_us));
                // A streak ends a block or `within` after its last block.
                (block + block.max(within_us)).max(pending_us.unwrap_or(0))
            }
            _ => recovery,
        };
        self.others_us = self.others_us.max(longest);
    }

    /// Returns the longest lifetime of a key, in milliseconds.
    pub(crate) fn longest_ms(&self, key: &[u8]) -> i64 {
        let end = key.iter().position(|byte| *byte == b'}').map_or(&[][..], |at| &key[at + 1..]);
        let longest = match end.first() {
            None => self.buckets_us,
            // A change of quota is remembered until the deepest debt has recovered.
            Some(b'!') => SETTLED_US.max(2 * self.buckets_us).max(self.others_us),
            Some(_) => self.others_us,
        };
        i64::try_from((longest + SLACK_US) / 1_000).unwrap_or(i64::MAX)
    }
}

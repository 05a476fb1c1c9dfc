//! A client: sends a check, records the answer, pauses, repeats.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sluicegate::{Clock, DecidedBy, SystemClock, next_set_id};
use sluicegate_conformance::subject::apply_set;
use sluicegate_core::{Set, Span};
use sluicegate_redis::Redis;

use super::record::Record;
use super::rules::{RULES, Rules};

/// The number of requests of each rule that the store has admitted.
pub(super) type Admitted = Arc<[AtomicU64; RULES]>;

/// One client of a node.
pub(super) struct Client {
    pub(super) node: usize,
    pub(super) number: u64,
    pub(super) store: Arc<Redis>,
    pub(super) rules: Arc<Rules>,
    pub(super) clock: SystemClock,
    pub(super) pause: Duration,
    pub(super) admitted: Admitted,
}

impl Client {
    pub(super) async fn ask_until(self, stop: Arc<AtomicBool>) -> Vec<Record> {
        let mut records = Vec::with_capacity(4_096);
        let mut number = self.number << 32;
        // Spreads the start times.
        tokio::time::sleep(self.pause * u32::try_from(self.number).unwrap() / 100).await;
        while !stop.load(Ordering::Relaxed) {
            number += 1;
            records.push(self.ask(number).await);
            tokio::time::sleep(self.pause).await;
        }
        records
    }

    async fn ask(&self, number: u64) -> Record {
        let (rule, key) = Rules::question(number);
        let check = self.rules.check((rule, key));
        let set = Set::one(&check, next_set_id());
        let mut decisions = [None];
        let sent_at = self.clock.now();
        let applied = apply_set(&*self.store, &set, &mut decisions).await.unwrap();
        let waited: Span = self.clock.now().since(sent_at);
        let [decision] = decisions;
        let decision = decision.expect("a lone check is always answered");
        if applied.by == DecidedBy::Store && decision.is_allowed() {
            self.admitted[rule].fetch_add(1, Ordering::Relaxed);
        }
        Record {
            sent: sent_at,
            at: applied.now,
            waited,
            rule,
            key,
            node: self.node,
            by: applied.by,
            allowed: decision.is_allowed(),
            remaining: decision.remaining(),
            retry_after: decision.retry_after(),
        }
    }
}

//! Tests of concurrency slots: never more than there are, and back after the lease of a lost
//! holder.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicegate::{Clock, DecidedBy, SystemClock, next_set_id};
use sluicegate_audit::{Audit, RuleSpec, TraceEntry, TraceEvent, TraceHeader};
use sluicegate_conformance::subject::apply_set;
use sluicegate_core::{Check, Cost, Operation, Set, Span};
use sluicegate_redis::Redis;
use sluicegate_testkit::{PATIENCE, ServerKind, retry_if_stalled, wait_until};

use crate::child_node::{ChildTask, LEASE, SLOTS, slots};
use crate::decided_by::ask;
use crate::fault_trial::{is_long, long_or, machine_alone};
use crate::harness::TestBed;

#[test]
fn slots_of_a_killed_node_return_after_the_lease() {
    retry_if_stalled(|| {
        let stage = TestBed::on(ServerKind::Redis);
        let store = stage.start(stage.options());
        let limit = slots();
        let take = || stage.block_on(ask(&store, Check::new(&limit, "tenant")));
        let mut child = stage.child(ChildTask::Hold { key: "tenant" });
        child.wait_for("holding");
        let clock = SystemClock::new();
        let held = clock.now();
        assert!(!take().1.is_allowed(), "all are held");
        child.kill();
        let (applied, refused) = take();
        assert!(!refused.is_allowed(), "the lease has not expired");
        assert_eq!(applied.by, DecidedBy::Store);
        wait_until("the slots are back", PATIENCE, || take().1.is_allowed());
        let back = clock.now().since(held);
        eprintln!("back {:?} after they were taken", Duration::from(back));
        assert!(!is_long() || back <= LEASE + Span::from_millis(250), "{back:?}");
        // One after the other, in the order in which they were taken.
        for _ in 1..SLOTS {
            wait_until("all of them are back", PATIENCE, || take().1.is_allowed());
        }
        assert!(!take().1.is_allowed(), "and no more");
    });
}

/// Takes a slot, holds it for a while and releases it, repeatedly.
async fn work(store: Arc<Redis>, node: &'static str, rounds: usize, audit: Arc<Mutex<Audit>>) {
    let limit = slots();
    for _ in 0..rounds {
        let check = Check::new(&limit, "tenant");
        let (applied, decision) = ask(&store, check).await;
        let entry = TraceEntry::decision("slots", "tenant", applied.now, 1, &decision).on(node);
        let Some(receipt) = decision.receipt().copied() else {
            audit.lock().unwrap().add(entry.by(applied.by));
            tokio::time::sleep(Duration::from_millis(2)).await;
            continue;
        };
        audit.lock().unwrap().add(entry.by(applied.by).holding(&receipt));
        tokio::time::sleep(Duration::from_millis(3)).await;
        let check = check.with_operation(Operation::Settle { receipt, actual: Cost::ZERO });
        let mut decisions = [None];
        let released =
            apply_set(&*store, &Set::one(&check, next_set_id()), &mut decisions).await.unwrap();
        let entry =
            TraceEntry::event(TraceEvent::Release, "slots", "tenant", released.now).on(node);
        audit.lock().unwrap().add(entry.holding(&receipt));
    }
}

#[test]
fn two_nodes_never_hold_more_slots_than_the_limit() {
    retry_if_stalled(|| {
        let _alone = machine_alone();
        let stage = TestBed::on(ServerKind::Redis);
        let lease = LEASE.as_micros() / 1_000;
        let header =
            TraceHeader::default().rule("slots", RuleSpec::concurrency(SLOTS, lease)).nodes(2);
        let audit = Arc::new(Mutex::new(Audit::new(header).unwrap()));
        let options = stage.options();
        let nodes = ["a", "b"].map(|name| (name, Arc::new(stage.start(options.clone()))));
        let tasks: Vec<_> = (0..40)
            .map(|task| {
                let (name, store) = &nodes[task % 2];
                let rounds = long_or(1_000, 100);
                stage.runtime.spawn(work(Arc::clone(store), name, rounds, Arc::clone(&audit)))
            })
            .collect();
        for task in tasks {
            stage.block_on(task).unwrap();
        }
        let findings = Arc::into_inner(audit).unwrap().into_inner().unwrap().finish();
        assert!(findings.is_ok(), "{findings}");
        assert!(findings.rules[0].allowed > 100 && findings.rules[0].refused > 0, "{findings}");
    });
}

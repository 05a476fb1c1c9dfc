//! Tests of lost replies, and of replies to another call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicegate::DecidedBy;
use sluicegate_core::{Check, Cost, Limit, OnStoreError};
use sluicegate_redis::{Options, Redis, Stats};
use sluicegate_testkit::{FaultProxy, PATIENCE, ServerKind, retry_if_stalled, wait_until};

use crate::decided_by::{ask, settle_with_retries};
use crate::fault_trial::{is_long, let_pass, long_or, machine_alone};
use crate::harness::{TestBed, options};

/// Refills nothing during a test, so that usage equals the count.
const BURST: u64 = 100_000;

/// The number of concurrent clients of each kind.
const CALLERS: u64 = 16;

/// A few lost replies show as much as many, where the time is limited.
const LOST: u64 = 5;

fn limit(name: &'static str) -> Limit {
    Limit::token_bucket(name, format!("1/h burst {BURST}").parse().unwrap()).unwrap()
}

/// So slow that a refund is worth all of its charge at any time.
fn slowest() -> Limit {
    Limit::token_bucket("orders", "1/day burst 10000".parse().unwrap()).unwrap()
}

/// A proxy that loses replies, a node behind it, and one that sees the real state.
struct LossyProxySetup {
    faulty: Arc<Redis>,
    clear: Arc<Redis>,
    proxy: FaultProxy,
    stage: TestBed,
}

impl LossyProxySetup {
    fn new() -> Self {
        let stage = TestBed::on(ServerKind::Redis);
        let proxy = FaultProxy::to(stage.server.address());
        let patient = |options: Options| options.deadline(Duration::from_millis(100)).unwrap();
        let faulty = Arc::new(stage.start(patient(options(&proxy.url()))));
        let clear = Arc::new(stage.start(stage.options()));
        Self { faulty, clear, proxy, stage }
    }

    /// Units used, as the server has counted them.
    fn used(&self, limit: &Limit, key: &str) -> u64 {
        let peek = Check::new(limit, key).cost(Cost::ZERO);
        let mut used = None;
        wait_until("the server answers", PATIENCE, || {
            let (applied, peeked) = self.stage.block_on(ask(&self.clear, peek));
            used = (applied.by == DecidedBy::Store).then(|| peeked.limit() - peeked.remaining());
            used.is_some()
        });
        used.unwrap()
    }
}

/// The answers of some clients.
#[derive(Default)]
struct ClientAnswers {
    admitted: u64,
    unanswered: u64,
    /// Admissions without the store.
    alone: u64,
}

async fn take(
    store: Arc<Redis>,
    (limit, outage): (Limit, OnStoreError),
    key: String,
    until: Arc<AtomicBool>,
) -> ClientAnswers {
    let mut got = ClientAnswers::default();
    while !until.load(Ordering::Relaxed) {
        let check = Check::new(&limit, &key).if_unreachable(outage);
        let (applied, decision) = ask(&store, check).await;
        match applied.by {
            DecidedBy::Store => {
                assert!(decision.is_allowed(), "there are enough");
                got.admitted += 1;
                // The reported value lies between the confirmed and the possible usage.
                let least = got.admitted;
                let most = got.admitted + got.unanswered + 2 * got.alone;
                let used = decision.limit() - decision.remaining();
                assert!((least..=most).contains(&used), "{key}: {used}, not {least} to {most}");
            }
            DecidedBy::Memory => panic!("no request is refused here"),
            DecidedBy::Share => {
                got.alone += u64::from(decision.is_allowed());
                got.unanswered += u64::from(!decision.is_allowed());
            }
            DecidedBy::Policy => got.unanswered += 1,
        }
        // While the store is down, further checks would only count the same outage again.
        let pause = if applied.by == DecidedBy::Store { 1 } else { 50 };
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    got
}

/// Runs clients while replies get lost, until enough has happened.
fn assert_admissions_are_counted(
    lose: impl Fn(&FaultProxy),
    happened: impl Fn(&Stats) -> bool,
) -> LossyProxySetup {
    let _alone = machine_alone();
    let lossy = LossyProxySetup::new();
    lose(&lossy.proxy);
    let until = Arc::new(AtomicBool::new(false));
    let closed = limit("closed");
    let local = limit("local");
    let mut clients = Vec::new();
    for number in 0..CALLERS {
        for (limit, outage) in [(&closed, OnStoreError::Deny), (&local, OnStoreError::Local)] {
            let (store, until) = (Arc::clone(&lossy.faulty), Arc::clone(&until));
            let key = format!("caller {number}");
            let client = take(store, (limit.clone(), outage), key, until);
            clients.push((number, outage, lossy.stage.runtime.spawn(client)));
        }
    }
    if is_long() {
        let_pass(Duration::from_secs(30));
    }
    wait_until("enough replies are lost", PATIENCE, || {
        lossy.proxy.counts().replies_dropped >= LOST && happened(&lossy.faulty.counts())
    });
    until.store(true, Ordering::Relaxed);
    let (mut unanswered, mut phantom) = (0, 0);
    let clients: Vec<_> = clients
        .into_iter()
        .map(|(number, outage, client)| (number, outage, lossy.stage.block_on(client).unwrap()))
        .collect();
    lossy.proxy.forward();
    for (number, outage, got) in clients {
        let key = format!("caller {number}");
        let used = lossy.used(if outage == OnStoreError::Deny { &closed } else { &local }, &key);
        unanswered += got.unanswered + got.alone;
        if outage == OnStoreError::Deny {
            phantom += used.saturating_sub(got.admitted);
        }
        assert!(used >= got.admitted, "{key} was admitted {}, counted {used}", got.admitted);
        let most = got.admitted + got.unanswered + 2 * got.alone;
        assert!(used <= most, "{key} was counted {used}, it can be {most}");
    }
    let dropped = lossy.proxy.counts().replies_dropped;
    eprintln!(
        "{dropped} replies lost, {unanswered} requests without an answer, {phantom} phantom units"
    );
    assert!(dropped > 0 && unanswered > 0, "replies were lost");
    // Two calls are in flight at a time, and each caller is in one of them at most.
    assert!(phantom <= dropped * CALLERS, "{phantom} for {dropped} lost replies");
    lossy
}

#[test]
fn admissions_are_counted_even_if_replies_get_lost() {
    let failed = |counts: &Stats| counts.timeouts + counts.connection_failures > 0;
    let lossy = assert_admissions_are_counted(|proxy| proxy.drop_replies(0.1, 7), failed);
    assert_eq!(lossy.faulty.counts().disagreements, 0);
}

#[test]
fn answers_are_not_mixed_up_even_if_replies_get_lost() {
    let confused = |counts: &Stats| counts.strange_replies > 0;
    let lossy = assert_admissions_are_counted(|proxy| proxy.swallow_replies(0.1, 7), confused);
    assert_eq!(lossy.faulty.counts().disagreements, 0);
}

#[test]
fn refunds_happen_once_even_if_replies_get_lost() {
    retry_if_stalled(|| {
        let _alone = machine_alone();
        let lossy = LossyProxySetup::new();
        let limit = slowest();
        let takes = long_or(200, 24);
        let mut receipts = Vec::new();
        for number in 0..takes {
            let check = Check::new(&limit, "caller").cost(Cost::from(10));
            let (_, decision) = lossy.stage.block_on(ask(&lossy.clear, check));
            // Half are refunded, half turn out to have cost more.
            let actual = Cost::from(if number % 2 == 0 { 0 } else { 13 });
            receipts.push((*decision.receipt().unwrap(), actual));
        }
        assert_eq!(lossy.used(&limit, "caller"), takes * 10);
        lossy.proxy.drop_replies(0.2, 11);
        let receipts = Arc::new(Mutex::new(receipts));
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let (store, limit) = (Arc::clone(&lossy.faulty), limit.clone());
                let receipts = Arc::clone(&receipts);
                lossy.stage.runtime.spawn(async move {
                    let next = || receipts.lock().unwrap().pop();
                    while let Some(settlement) = next() {
                        // Sent twice, because a client may not have received the first answer.
                        settle_with_retries(&store, &limit, "caller", settlement).await;
                        settle_with_retries(&store, &limit, "caller", settlement).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            lossy.stage.block_on(task).unwrap();
        }
        lossy.proxy.forward();
        // `remaining` is rounded down, so up to one unit more may look used.
        let (used, expected) = (lossy.used(&limit, "caller"), takes / 2 * 13);
        assert!(
            (expected..=expected + 1).contains(&used),
            "each exactly once: {used}, not {expected}"
        );
        assert!(lossy.proxy.counts().replies_dropped > 0, "replies were lost");
    });
}

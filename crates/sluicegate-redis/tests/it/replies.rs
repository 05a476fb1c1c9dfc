//! Replies get lost, or come to the wrong one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicegate::By;
use sluicegate_core::{Check, Cost, Limit, Outage};
use sluicegate_redis::{Counts, Options, Redis};
use sluicegate_testkit::{FaultProxy, Kind, PATIENCE, retry_if_stalled, wait_until};

use crate::asking::{ask, settle_stubbornly};
use crate::stage::{Stage, options};
use crate::trial::{is_long, let_pass, long_or, machine_alone};

/// Nothing comes back while a test runs: what is used is what was counted.
const BURST: u64 = 100_000;

/// How many ask at a time, of each kind.
const CALLERS: u64 = 16;

/// As many lost replies say as much as more of them do, where there is no time for more.
const LOST: u64 = 5;

fn limit(name: &'static str) -> Limit {
    Limit::token_bucket(name, format!("1/h burst {BURST}").parse().unwrap()).unwrap()
}

/// So slow that a refund is worth all of its charge, however long it took.
fn slowest() -> Limit {
    Limit::token_bucket("orders", "1/day burst 10000".parse().unwrap()).unwrap()
}

/// A proxy that loses replies, a node behind it, and one that sees what is really there.
struct Lossy {
    faulty: Arc<Redis>,
    clear: Arc<Redis>,
    proxy: FaultProxy,
    stage: Stage,
}

impl Lossy {
    fn new() -> Self {
        let stage = Stage::on(Kind::Redis);
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
            let (applied, standing) = self.stage.block_on(ask(&self.clear, peek));
            used = (applied.by == By::Store).then(|| standing.limit() - standing.remaining());
            used.is_some()
        });
        used.unwrap()
    }
}

/// What some clients got.
#[derive(Default)]
struct Got {
    admitted: u64,
    unanswered: u64,
    /// Admitted without the store.
    alone: u64,
}

async fn take(
    store: Arc<Redis>,
    (limit, outage): (Limit, Outage),
    key: String,
    until: Arc<AtomicBool>,
) -> Got {
    let mut got = Got::default();
    while !until.load(Ordering::Relaxed) {
        let check = Check::new(&limit, &key).if_unreachable(outage);
        let (applied, decision) = ask(&store, check).await;
        match applied.by {
            By::Store => {
                assert!(decision.is_allowed(), "there are enough");
                got.admitted += 1;
                // What it is told lies between what it has got and what it may have taken.
                let least = got.admitted;
                let most = got.admitted + got.unanswered + 2 * got.alone;
                let used = decision.limit() - decision.remaining();
                assert!((least..=most).contains(&used), "{key}: {used}, not {least} to {most}");
            }
            By::Memory => panic!("nobody was ever refused"),
            By::Share => {
                got.alone += u64::from(decision.is_allowed());
                got.unanswered += u64::from(!decision.is_allowed());
            }
            By::Policy => got.unanswered += 1,
        }
        // While it is down, asking on would only count the same outage again.
        let pause = if applied.by == By::Store { 1 } else { 50 };
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    got
}

/// Clients ask while replies get lost, until enough has happened.
fn counts_what_it_admits(lose: impl Fn(&FaultProxy), happened: impl Fn(&Counts) -> bool) -> Lossy {
    let _alone = machine_alone();
    let lossy = Lossy::new();
    lose(&lossy.proxy);
    let until = Arc::new(AtomicBool::new(false));
    let closed = limit("closed");
    let local = limit("local");
    let mut clients = Vec::new();
    for number in 0..CALLERS {
        for (limit, outage) in [(&closed, Outage::Deny), (&local, Outage::Local)] {
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
        let used = lossy.used(if outage == Outage::Deny { &closed } else { &local }, &key);
        unanswered += got.unanswered + got.alone;
        if outage == Outage::Deny {
            phantom += used.saturating_sub(got.admitted);
        }
        assert!(used >= got.admitted, "{key} was admitted {}, counted {used}", got.admitted);
        let most = got.admitted + got.unanswered + 2 * got.alone;
        assert!(used <= most, "{key} was counted {used}, it can be {most}");
    }
    let dropped = lossy.proxy.counts().replies_dropped;
    eprintln!(
        "{dropped} replies lost, {unanswered} requests without an answer, {phantom} units counted that nobody got"
    );
    assert!(dropped > 0 && unanswered > 0, "replies were lost");
    // Two calls are under way at a time, and each of the callers is in one of them at most.
    assert!(phantom <= dropped * CALLERS, "{phantom} for {dropped} lost replies");
    lossy
}

#[test]
fn what_is_admitted_is_counted_even_if_replies_get_lost() {
    let failed = |counts: &Counts| counts.timeouts + counts.connection_failures > 0;
    let lossy = counts_what_it_admits(|proxy| proxy.drop_replies(0.1, 7), failed);
    assert_eq!(lossy.faulty.counts().disagreements, 0);
}

#[test]
fn no_answer_is_taken_for_another_even_if_replies_are_swallowed() {
    let confused = |counts: &Counts| counts.strange_replies > 0;
    let lossy = counts_what_it_admits(|proxy| proxy.swallow_replies(0.1, 7), confused);
    assert_eq!(lossy.faulty.counts().disagreements, 0);
}

#[test]
fn nothing_is_given_back_twice_even_if_replies_get_lost() {
    retry_if_stalled(|| {
        let _alone = machine_alone();
        let lossy = Lossy::new();
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
                        // Twice: whoever is told that it is done may not know.
                        settle_stubbornly(&store, &limit, "caller", settlement).await;
                        settle_stubbornly(&store, &limit, "caller", settlement).await;
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

//! Tests of the units admitted when nodes do not lose the store together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sluicegate::{Clock, SystemClock};
use sluicegate_core::{Check, Limit, Span};
use sluicegate_redis::Redis;
use sluicegate_testkit::{FaultProxy, PATIENCE, ServerKind, wait_until};

use crate::decided_by::ask;
use crate::fault_trial::{deadline, is_long, let_pass, long_or, machine_alone};
use crate::harness::{TestBed, options};

const RATE: u64 = 200;
const BURST: u64 = 100;

/// Runs nodes, each behind a proxy of its own, on one key during `happens`. Returns the units
/// admitted beyond the rate.
fn beyond_rate(nodes: usize, happens: impl FnOnce(&[FaultProxy], &[Arc<Redis>])) -> i64 {
    let _alone = machine_alone();
    let stage = TestBed::on(ServerKind::Redis);
    let address = stage.server.address();
    let proxies: Vec<FaultProxy> = (0..nodes).map(|_| FaultProxy::to(address)).collect();
    let start = |proxy: &FaultProxy| Arc::new(stage.start(deadline(options(&proxy.url()))));
    let stores: Vec<Arc<Redis>> = proxies.iter().map(start).collect();
    wait_until("every node knows of the others", PATIENCE, || {
        stores.iter().all(|store| store.health().nodes as usize == nodes)
    });
    let quota = format!("{RATE}/s burst {BURST}").parse().unwrap();
    let limit = Limit::token_bucket("hot", quota).unwrap();
    let (stop, admitted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let clock = SystemClock::new();
    let began = clock.now();
    let clients: Vec<_> = (0..nodes * 20)
        .map(|client| {
            let (store, limit) = (Arc::clone(&stores[client % nodes]), limit.clone());
            let (stop, admitted) = (Arc::clone(&stop), Arc::clone(&admitted));
            stage.runtime.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let (_, decision) = ask(&store, Check::new(&limit, "caller")).await;
                    admitted.fetch_add(decision.granted(), Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            })
        })
        .collect();
    happens(&proxies, &stores);
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        stage.block_on(client).unwrap();
    }
    let lasted = clock.now().since(began).as_micros();
    let admitted = i64::try_from(admitted.load(Ordering::Relaxed)).unwrap();
    admitted - i64::try_from(RATE * lasted / 1_000_000).unwrap()
}

fn wait_until_up(store: &Redis, up: bool) {
    wait_until("the node has noticed", PATIENCE, || store.health().up == up);
}

fn flap(proxy: &FaultProxy, store: &Redis, times: usize) {
    for _ in 0..times {
        proxy.refuse();
        wait_until_up(store, false);
        let_pass(Duration::from_millis(long_or(1_000, 500)));
        proxy.forward();
        wait_until_up(store, true);
        let_pass(Duration::from_millis(long_or(1_000, 300)));
    }
}

/// The bound beyond the rate if all nodes lose the store together, and recover together.
const THREE_BURSTS: i64 = 3 * BURST.cast_signed();

#[test]
fn a_single_node_gains_nothing_from_an_unstable_store() {
    let beyond = beyond_rate(1, |proxies, stores| {
        flap(&proxies[0], &stores[0], long_or(30, 3));
    });
    eprintln!("one node: {beyond} beyond the rate");
    assert!(beyond <= THREE_BURSTS, "{beyond} beyond the rate");
}

/// The store has no knowledge of a node that is cut off, and grants everything to the others; so
/// that node's share is added, for as long as it lasts.
#[test]
fn an_isolated_node_adds_only_its_share() {
    let (clock, seconds) = (SystemClock::new(), long_or(20, 2));
    let mut cut_off = Span::ZERO;
    let beyond = beyond_rate(2, |proxies, stores| {
        let began = clock.now();
        proxies[0].refuse();
        let_pass(Duration::from_secs(seconds));
        proxies[0].forward();
        wait_until_up(&stores[0], true);
        cut_off = clock.now().since(began);
        let_pass(Duration::from_millis(long_or(1_000, 300)));
    });
    let lasted = Duration::from(cut_off);
    eprintln!("one of two nodes cut off for {lasted:?}: {beyond} beyond the rate");
    let back_after = lasted.saturating_sub(Duration::from_secs(seconds));
    assert!(!is_long() || back_after <= Duration::from_millis(1_250), "{back_after:?}");
    let share = i64::try_from(RATE / 2 * cut_off.as_micros() / 1_000_000).unwrap();
    assert!(beyond <= THREE_BURSTS + share, "{beyond} beyond the rate");
}

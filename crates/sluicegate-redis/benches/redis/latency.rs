//! The latency of a decision at half the highest rate, beside a bare `PING`: the latency of that is
//! common to all requests on this machine.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, cmd};
use sluicegate_testkit::{Rng, ServerKind};
use tokio::time::{Instant, sleep_until};

use crate::Scale;
use crate::callers::CALLERS;
use crate::load::{BenchOperation, MeasuredCost};
use crate::setup::BenchServers;
use crate::table::{head, median, row};

/// Tasks of each node; enough that one is always free for the next request.
const TASKS: usize = 1_024;

pub(crate) fn measure(kind: ServerKind, scale: Scale) {
    let ground = BenchServers::new(kind, 2);
    ground.fill(BenchOperation::one(), 256, CALLERS);
    let highest =
        (0..scale.rounds).map(|_| ground.load(BenchOperation::one(), 256, scale.decisions));
    let highest = median(highest.map(|taken| MeasuredCost::per_second(&taken)));
    let pings = connections(&ground);
    head(
        &format!("{kind:?}: the wait for a decision in ms"),
        &["a second", "median", "99 %", "aim", "99.9 %", "`PING`: median", "99 %", "99.9 %"],
    );
    for round in 0..2 * scale.rounds {
        // In turn: half of the highest rate, and a tenth.
        let (rate, aim) = if round % 2 == 0 { (highest / 2.0, "5") } else { (highest / 10.0, "") };
        let requests = scale.decisions.min(rate as usize * 2);
        let alone = ground.without_server();
        let ours = paced(&ground, rate, requests, None);
        assert_eq!(ground.without_server(), alone, "decided without the server");
        let bare = paced(&ground, rate, requests, Some(&pings));
        let share = |waits: &[Duration], share: usize| {
            format!("{:.2}", waits[waits.len() * share / 1_000].as_secs_f64() * 1e3)
        };
        let [ours, bare] = [ours, bare].map(|waits| [500, 990, 999].map(|of| share(&waits, of)));
        let [half, most, nearly_all] = ours;
        let cells = [format!("{rate:.0}"), half, most, aim.into(), nearly_all];
        row(cells.iter().chain(&bare));
    }
}

/// A connection for each node, as a store has it.
fn connections(ground: &BenchServers) -> Vec<MultiplexedConnection> {
    let client = Client::open(ground.server.url()).unwrap();
    let connect = || ground.runtime.block_on(client.get_multiplexed_async_connection()).unwrap();
    ground.nodes.iter().map(|_| connect()).collect()
}

/// Sends requests at this rate, whether or not earlier ones have been answered. Returns their
/// latencies in order, each from the time it was due, so that a late timer is included.
fn paced(
    ground: &BenchServers,
    rate: f64,
    requests: usize,
    pings: Option<&[MultiplexedConnection]>,
) -> Vec<Duration> {
    let tasks = TASKS * ground.nodes.len();
    let (start, waits) = (Instant::now(), Arc::new(Mutex::new(Vec::with_capacity(requests))));
    ground.each_task(TASKS, |node, task| {
        let (waits, mut draws) = (Arc::clone(&waits), Rng::new(task as u64));
        let mut ping = pings.map(|pings| pings[task % pings.len()].clone());
        async move {
            let mut own = Vec::with_capacity(requests / tasks);
            for round in 0..requests / tasks {
                let due = (round * tasks + task) as f64 / rate;
                let due = start + Duration::from_secs_f64(due);
                sleep_until(due).await;
                match &mut ping {
                    Some(ping) => cmd("PING").exec_async(ping).await.unwrap(),
                    None => BenchOperation::one().about(&node, draws.index(CALLERS)).await,
                }
                own.push(due.elapsed());
            }
            waits.lock().unwrap().extend(own);
        }
    });
    let mut waits = Arc::into_inner(waits).unwrap().into_inner().unwrap();
    waits.sort();
    waits
}

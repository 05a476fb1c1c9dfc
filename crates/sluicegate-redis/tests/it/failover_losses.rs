//! Tests of the charges lost with a killed primary: those it answered but had not replicated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use sluicegate::{Clock, DecidedBy, SystemClock};
use sluicegate_core::{Check, Cost, Limit, OnStoreError, Span, Time};
use sluicegate_redis::Redis;
use sluicegate_testkit::{ConnectionId, PATIENCE, Sentinels, ServerKind, StallMonitor, wait_until};

use crate::decided_by::ask;
use crate::failover::is_on;
use crate::fault_trial::{NODES, deadline, let_pass, long_or, machine_alone};
use crate::harness::{TestBed, guarded_sentinels, options};

/// Refills nothing during a test, so that usage equals the count.
const BURST: u64 = 50_000;
/// The number of concurrent clients of each node.
const CLIENTS: usize = 8;
/// How long replicas receive nothing, where they are to lag behind.
const HELD_BACK: Duration = Duration::from_millis(200);
/// Answers of this time before a kill may be lost, and more on a machine that stalls.
const SLACK: Span = Span::from_millis(100);

/// The number of admissions before a primary is killed.
const SPENT: usize = 500;

/// The state that the clients of a round share.
struct Shared {
    limit: Limit,
    key: String,
    clock: SystemClock,
    admitted: AtomicUsize,
    stop: AtomicBool,
}

/// The answers of some clients.
#[derive(Default)]
struct ClientAnswers {
    /// The times of their admissions.
    admitted: Vec<Time>,
    /// Charges in doubt.
    unanswered: usize,
}

/// The losses of one failover.
struct Loss {
    /// The number of admissions that the new primary does not have.
    units: usize,
    /// How long before the kill the first of them was.
    lag: Span,
}

/// Kills one primary after the other under load.
struct FailoverTrial {
    stage: TestBed<Sentinels>,
    clock: SystemClock,
    limit: Limit,
}

impl FailoverTrial {
    fn new() -> Self {
        let group = guarded_sentinels(ServerKind::Redis).behind_proxies().start();
        let limit = Limit::token_bucket("orders", format!("1/h burst {BURST}").parse().unwrap());
        Self { stage: TestBed::with(group), clock: SystemClock::new(), limit: limit.unwrap() }
    }

    fn check<'a>(&'a self, key: &'a str) -> Check<'a> {
        Check::new(&self.limit, key).if_unreachable(OnStoreError::Deny)
    }

    /// The primary, once its replicas follow it without delay.
    fn settled_primary(&self) -> usize {
        let group = &self.stage.server;
        group.wait_until_settled();
        let primary = group.primary();
        let replicas = group.servers().iter().filter(|server| server.is_running()).count() - 1;
        let replicas = i64::try_from(replicas).unwrap();
        // After a full copy a replica may receive later changes with a delay of a second.
        wait_until("the replicas follow", PATIENCE, || {
            let server = &group.servers()[primary];
            server.command(&["SET", "synced", "by all"]);
            server.command(&["WAIT", &replicas.to_string(), "2000"]).integer() == replicas
        });
        primary
    }

    /// Two nodes, and their connections to the primary.
    fn nodes(&self, primary: usize) -> (Vec<Arc<Redis>>, Vec<ConnectionId>) {
        let proxy = self.stage.server.proxy(primary);
        let before = proxy.connections();
        let start = || Arc::new(self.stage.start(deadline(options(&self.stage.server.url()))));
        let nodes = (0..NODES).map(|_| start()).collect();
        let own = proxy.connections().into_iter().filter(|id| !before.contains(id)).collect();
        (nodes, own)
    }

    /// Kills the primary while clients send checks of one key; its replicas may lag behind.
    fn lose(&self, round: usize, lags: bool) -> Loss {
        let group = &self.stage.server;
        let primary = self.settled_primary();
        let (nodes, own) = self.nodes(primary);
        let shared = Arc::new(Shared {
            limit: self.limit.clone(),
            key: format!("caller {round}"),
            clock: self.clock,
            admitted: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        });
        let clients: Vec<_> = (0..NODES * CLIENTS)
            .map(|client| {
                let store = Arc::clone(&nodes[client % NODES]);
                self.stage.runtime.spawn(take(store, Arc::clone(&shared)))
            })
            .collect();
        let monitor = StallMonitor::start();
        wait_until("some are admitted", PATIENCE, || {
            shared.admitted.load(Ordering::Relaxed) >= SPENT
        });
        let passed_on = self.clock.now();
        if lags {
            group.proxy(primary).isolate(&own);
            let_pass(HELD_BACK);
        }
        let killed = self.clock.now();
        group.servers()[primary].kill();
        // The delayed part is lost.
        group.proxy(primary).heal();
        shared.stop.store(true, Ordering::Relaxed);
        let mut got = ClientAnswers::default();
        for client in clients {
            let one = self.stage.block_on(client).unwrap();
            got.admitted.extend(one.admitted);
            got.unanswered += one.unanswered;
        }
        let to = group.wait_until_switched(primary);
        wait_until("all are on the new primary", PATIENCE, || {
            nodes.iter().all(|node| is_on(node, group, to))
        });
        let slack = SLACK + Span::from(monitor.longest() * 5);
        let certain = Time::from_micros(passed_on.as_micros() - slack.as_micros());
        let times = (certain, killed);
        let loss = self.known(&nodes[round % NODES], &shared.key, got, times);
        if group.servers().iter().filter(|server| server.is_running()).count() < 2 {
            group.servers()[primary].restart();
        }
        loss
    }

    /// Compares the admissions with the usage on the new primary.
    fn known(
        &self,
        node: &Redis,
        key: &str,
        mut got: ClientAnswers,
        (certain, killed): (Time, Time),
    ) -> Loss {
        got.admitted.sort_unstable();
        let admitted = got.admitted.len();
        let (by, left) = self.take_rest(node, key);
        assert_eq!(by, DecidedBy::Store);
        let used = usize::try_from(BURST - left).unwrap();
        assert!(used <= admitted + got.unanswered, "{used} are counted, {admitted} were admitted");
        let units = admitted.saturating_sub(used);
        let late = got.admitted.iter().filter(|at| **at >= certain).count();
        assert!(units <= late, "{units} are forgotten, {late} may not have been passed on");
        let first = got.admitted.get(admitted - units).copied();
        let lag = first.map_or(Span::ZERO, |first| killed.since(first));
        eprintln!(
            "  {units} of {admitted} are forgotten, {late} may be: the last {:?}",
            Duration::from(lag)
        );
        Loss { units, lag }
    }

    /// Takes all that is left for a key. Returns the source of the decision and the number of
    /// units.
    fn take_rest(&self, node: &Redis, key: &str) -> (DecidedBy, u64) {
        let ask = |cost| self.stage.block_on(ask(node, self.check(key).cost(Cost::from(cost))));
        let (applied, peeked) = ask(0);
        let left = u32::try_from(peeked.remaining()).unwrap();
        assert!(ask(left).1.is_allowed(), "what is left is handed out");
        assert!(!ask(1).1.is_allowed(), "nothing is left then");
        (applied.by, peeked.remaining())
    }
}

async fn take(store: Arc<Redis>, shared: Arc<Shared>) -> ClientAnswers {
    let mut got = ClientAnswers::default();
    while !shared.stop.load(Ordering::Relaxed) {
        let check = Check::new(&shared.limit, &shared.key).if_unreachable(OnStoreError::Deny);
        let (applied, decision) = ask(&store, check).await;
        if applied.by == DecidedBy::Store && decision.is_allowed() {
            got.admitted.push(shared.clock.now());
            shared.admitted.fetch_add(1, Ordering::Relaxed);
        } else {
            got.unanswered += 1;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    got
}

#[test]
fn a_killed_primary_loses_only_unreplicated_charges() {
    let losing = FailoverTrial::new();
    let _alone = machine_alone();
    let (mut natural, mut forced) = (Vec::new(), Vec::new());
    for round in 0..long_or(100, 4) {
        let lags = round % 2 == 1;
        let loss = losing.lose(round, lags);
        assert!(loss.units as u64 <= BURST);
        if lags { &mut forced } else { &mut natural }.push(loss);
    }
    for (what, losses) in [("as they are", &mut natural), ("made to lag", &mut forced)] {
        losses.sort_by_key(|loss| loss.units);
        let (half, most) = (&losses[losses.len() / 2], losses.last().unwrap());
        eprintln!(
            "{} failovers with replicas {what}: half lost up to {} units ({:?}), all up to {} \
             ({:?})",
            losses.len(),
            half.units,
            Duration::from(half.lag),
            most.units,
            Duration::from(most.lag)
        );
    }
    assert!(forced.iter().all(|loss| loss.units > 0), "replicas lagged behind");
}

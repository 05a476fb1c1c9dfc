//! Tests that every key on the server expires, in all circumstances.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::{Check, Cost, Limit, OnStoreError, Operation, Receipt, Slices, Span};
use sluicegate_redis::{Options, Redis};
use sluicegate_testkit::{FaultProxy, PATIENCE, Rng, ServerKind, wait_until};

use crate::decided_by::try_ask;
use crate::fault_trial::{let_pass, long_or, machine_alone};
use crate::harness::{TestBed, options};

/// The longest that a counter without debt can need to recover.
const PERIOD: Span = Span::from_secs(3);

/// The kinds of use of a server, each under a prefix of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// As by rules that deny without the store: limits without debt, and only slots are released.
    ByRules,
    /// As by rules that fall back to a local share: admitted units are charged later, once.
    ByLocalRules,
    /// As by programs: limits with debt, and charges that are settled.
    WithDebt,
}

impl Use {
    const ALL: [Self; 3] = [Self::ByRules, Self::ByLocalRules, Self::WithDebt];

    fn prefix(self) -> &'static str {
        match self {
            Self::ByRules => "sluicegate:rules:",
            Self::ByLocalRules => "sluicegate:local:",
            Self::WithDebt => "sluicegate:debt:",
        }
    }

    /// How long a counter can matter: a debt is as deep again as the limit.
    fn longest(self) -> Span {
        match self {
            Self::ByRules | Self::ByLocalRules => PERIOD,
            Self::WithDebt => Span::from_micros(2 * PERIOD.as_micros()),
        }
    }

    fn limits(self) -> Vec<Limit> {
        let quota = |text: &str| text.parse().unwrap();
        let limits = [
            Limit::token_bucket("token", quota("10/3s")),
            Limit::leaky_bucket("leaky", quota("10/3s")),
            Limit::queue("queue", quota("10/3s burst 9")),
            Limit::fixed_window("fixed", quota("10/s")),
            Limit::sliding_window("weighted", quota("10/3s"), Slices::Weighted(3)),
            Limit::sliding_window("strict", quota("10/3s"), Slices::Strict(3)),
            Limit::sliding_log("log", quota("10/3s")),
            Limit::concurrency("slots", 10, PERIOD),
        ];
        let limits = limits.into_iter().map(Result::unwrap);
        match self {
            Self::ByRules | Self::ByLocalRules => limits.map(Limit::without_debt).collect(),
            Self::WithDebt => limits.collect(),
        }
    }

    fn outage(self) -> OnStoreError {
        if self == Self::ByRules { OnStoreError::Deny } else { OnStoreError::Local }
    }

    /// The keys that are still on the server. Settlements of programs are kept for ten minutes, so
    /// that they count once; those of replayed charges only while these are pending.
    fn left(self, stage: &TestBed) -> Vec<String> {
        let keys = stage.server.keys().into_iter();
        let keys = keys.map(|key| String::from_utf8_lossy(&key).into_owned());
        let own = keys.filter(|key| key.starts_with(self.prefix()));
        own.filter(|key| self != Self::WithDebt || !is_settlement(key)).collect()
    }
}

/// Whether a key is an idempotency record.
fn is_settlement(key: &str) -> bool {
    key.contains('!')
}

/// Sends checks of all kinds; releases some.
async fn work(store: Arc<Redis>, as_used: Use, seed: u64, steps: u64) {
    let (limits, mut chance) = (as_used.limits(), Rng::new(seed));
    let mut receipts = Vec::new();
    for _ in 0..steps {
        let limit = chance.index(limits.len());
        let key = format!("caller {}", chance.below(300));
        let check = Check::new(&limits[limit], &key).if_unreachable(as_used.outage());
        match chance.below(20) {
            0 => drop(try_ask(&store, check.with_operation(Operation::Reset)).await),
            1 => {
                drop(try_ask(&store, check.with_operation(Operation::Charge(Cost::from(3)))).await);
            }
            2..=5 if !receipts.is_empty() => {
                let (limit, key, receipt): (usize, String, _) = receipts.swap_remove(0);
                let limit = &limits[limit];
                let actual = if limit.holds() { 0 } else { chance.below(3) };
                let actual = Cost::from(u32::try_from(actual).unwrap());
                let check =
                    Check::new(limit, &key).with_operation(Operation::Settle { receipt, actual });
                drop(try_ask(&store, check).await);
            }
            _ => {
                let taken = try_ask(&store, check).await.unwrap();
                let settled = as_used == Use::WithDebt || limits[limit].holds();
                let receipt = taken.1.receipt().filter(|_| settled);
                receipts.extend(receipt.map(|receipt| (limit, key.clone(), *receipt)));
                receipts.truncate(20);
            }
        }
        tokio::task::yield_now().await;
    }
}

/// Two nodes of each use, behind a proxy that kills their connections.
fn nodes(stage: &TestBed, proxy: &FaultProxy) -> Vec<(Use, Arc<Redis>)> {
    let patient =
        |options: Options| options.deadline(Duration::from_millis(long_or(200, 500))).unwrap();
    let start = |as_used: Use| {
        let options = patient(options(&proxy.url())).prefix(as_used.prefix()).unwrap();
        (as_used, Arc::new(stage.start(options)))
    };
    Use::ALL.into_iter().flat_map(|as_used| [start(as_used), start(as_used)]).collect()
}

#[test]
fn every_key_dies_even_if_connections_are_killed() {
    let alone = machine_alone();
    let stage = TestBed::on(ServerKind::Redis);
    let proxy = FaultProxy::to(stage.server.address());
    let nodes = nodes(&stage, &proxy);
    let steps = long_or(1_000_000, 20_000) / 16;
    let tasks: Vec<_> = (0..16)
        .zip(nodes.iter().cycle())
        .map(|(task, (as_used, store))| {
            stage.runtime.spawn(work(Arc::clone(store), *as_used, task, steps))
        })
        .collect();
    let mut killed = 0;
    while !tasks.iter().all(tokio::task::JoinHandle::is_finished) {
        let_pass(Duration::from_millis(700));
        // Kills some of the connections: the other nodes continue.
        killed += proxy.kill_connections(0.5);
    }
    for task in tasks {
        stage.block_on(task).unwrap();
    }
    let calls: u64 = nodes.iter().map(|(_, node)| node.counts().sets).sum();
    eprintln!("{calls} sets decided, {killed} connections killed");
    assert!(killed > 0);
    drop(nodes);
    for as_used in Use::ALL {
        let longest = assert_times_to_live(&stage, as_used);
        eprintln!("{as_used:?}: the longest key lives {longest} ms");
    }
    // From here on only the server is active.
    drop(alone);
    for as_used in Use::ALL {
        wait_until("nothing is left", PATIENCE, || as_used.left(&stage).is_empty());
    }
}

/// Checks that every key expires by the time it can no longer matter; returns the longest lifetime.
fn assert_times_to_live(stage: &TestBed, as_used: Use) -> i64 {
    let most = |lives: Span| i64::try_from(lives.as_micros() / 1_000).unwrap() + 2_000;
    let ends_by = |key: &str, most: i64| {
        let left = stage.server.command(&["PTTL", key]).integer();
        // The key expired since it was listed, or the check fails:
        assert!(left != -1, "{key} stays for ever");
        assert!(left <= most, "{key} stays for {left} ms, at most {most} are needed");
        left
    };
    for key in stage.server.keys() {
        let key = String::from_utf8_lossy(&key).into_owned();
        if is_settlement(&key) && key.starts_with(as_used.prefix()) {
            assert_ne!(as_used, Use::ByRules, "{key}: nothing was to be charged later");
            if as_used == Use::WithDebt {
                ends_by(&key, most(Receipt::SETTLED_WITHIN));
            }
        }
    }
    let left = as_used.left(stage);
    left.iter().map(|key| ends_by(key, most(as_used.longest()))).max().unwrap_or(0)
}

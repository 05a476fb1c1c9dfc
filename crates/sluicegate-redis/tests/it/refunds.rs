//! Tests of refunds without a receipt, during outages and with calls in doubt.

use std::time::Duration;

use sluicegate::{Applied, DecidedBy, next_set_id};
use sluicegate_conformance::subject::apply_set;
use sluicegate_core::{Check, Cost, Decision, Limit, OnStoreError, Operation, Ruling, Scope, Set};
use sluicegate_redis::{Options, Redis};
use sluicegate_testkit::{FaultProxy, PATIENCE, ServerKind, retry_if_stalled};

use crate::decided_by::ask;
use crate::harness::{TestBed, options};

/// So slow that nothing refills during a test.
fn slow(name: &'static str) -> Limit {
    Limit::token_bucket(name, "1/day burst 10".parse().unwrap()).unwrap()
}

fn units(units: u32) -> Cost {
    Cost::from(units)
}

/// A node behind a proxy. It is alone, so that its share is the whole limit.
struct ProxiedNode {
    node: Redis,
    proxy: FaultProxy,
    stage: TestBed,
}

impl ProxiedNode {
    fn new() -> Self {
        let stage = TestBed::on(ServerKind::Redis);
        let proxy = FaultProxy::to(stage.server.address());
        let patient = |options: Options| options.deadline(Duration::from_secs(1)).unwrap();
        let node = stage.start(patient(options(&proxy.url())));
        Self { node, proxy, stage }
    }

    fn ask(&self, check: Check<'_>) -> (DecidedBy, Decision) {
        let (applied, decision) = self.stage.block_on(ask(&self.node, check));
        (applied.by, decision)
    }

    /// Units used, as the server has counted them, read by another node.
    fn used(&self, limit: &Limit) -> u64 {
        let clear = self.stage.start(self.stage.options());
        let peek = Check::new(limit, "caller").with_operation(Operation::Charge(Cost::ZERO));
        let (applied, peeked) = self.stage.block_on(ask(&clear, peek));
        assert_eq!(applied.by, DecidedBy::Store);
        peeked.limit() - peeked.remaining()
    }

    fn reconnect(&self) {
        self.proxy.forward();
        let reached = self.stage.block_on(self.node.wait_until_connected(PATIENCE));
        assert!(reached, "the server is there again");
    }
}

#[test]
fn refunds_during_an_outage_go_to_the_share_and_are_not_replayed() {
    retry_if_stalled(|| {
        let behind = ProxiedNode::new();
        let limit = slow("share");
        let check = Check::new(&limit, "caller");
        behind.ask(check.cost(units(4)));
        behind.proxy.refuse();
        // The call that noticed the failure may have been executed: its units are in doubt. Nothing
        // is taken.
        let away = || {
            behind.ask(check.with_operation(Operation::Charge(Cost::ZERO))).0 == DecidedBy::Share
        };
        sluicegate_testkit::wait_until("the store is given up", PATIENCE, away);
        let (by, taken) = behind.ask(check.cost(units(3)));
        assert_eq!(
            (by, taken.remaining()),
            (DecidedBy::Share, 3),
            "of 10, beside the 4 that it had seen"
        );
        let (by, given) = behind.ask(check.with_operation(Operation::Refund(units(5))));
        assert_eq!((by, given.granted(), given.remaining()), (DecidedBy::Share, 5, 8));
        behind.reconnect();
        sluicegate_testkit::wait_until("the node sends to the store", PATIENCE, || {
            behind.ask(check.with_operation(Operation::Charge(Cost::ZERO))).0 == DecidedBy::Store
        });
        // Of the 3 taken meanwhile 2 are used in the end. All 3 are charged if they were sent
        // before the rest was refunded; that refund is never sent.
        let used = behind.used(&limit);
        assert!((6..=7).contains(&used), "{used} are used");
    });
}

#[test]
fn refunds_in_doubt_are_not_repeated() {
    retry_if_stalled(|| {
        let behind = ProxiedNode::new();
        let limit = slow("doubtful");
        let check = Check::new(&limit, "caller");
        behind.ask(check.cost(units(6)));
        // The server has the script, so that a single message suffices.
        behind.ask(check.with_operation(Operation::Charge(Cost::ZERO)));
        // The message is sent, and waits in a server that is paused.
        behind.stage.server.pause();
        let (by, given) = behind.ask(check.with_operation(Operation::Refund(units(2))));
        behind.stage.server.resume();
        assert_eq!((by, given.granted()), (DecidedBy::Share, 0), "it may be done yet");
        assert_eq!(given.remaining(), 4, "the share is used as the store was seen");
        assert_eq!(behind.used(&limit), 4, "the store has done it, once");
        sluicegate_testkit::wait_until("the node sends to the store", PATIENCE, || {
            behind.ask(check.with_operation(Operation::Charge(Cost::ZERO))).0 == DecidedBy::Store
        });
        assert_eq!(behind.used(&limit), 4, "nothing was replayed later");
    });
}

#[test]
fn without_the_store_a_refund_follows_the_policy_of_its_set() {
    let behind = ProxiedNode::new();
    let limit = slow("policy");
    let check = Check::new(&limit, "caller").with_operation(Operation::Refund(units(1)));
    behind.proxy.refuse();
    let decide = |outage| behind.ask(check.if_unreachable(outage));
    let away = || decide(OnStoreError::Allow).0 == DecidedBy::Policy;
    sluicegate_testkit::wait_until("the store is given up", PATIENCE, away);
    let (_, allowed) = decide(OnStoreError::Allow);
    assert!(allowed.is_allowed() && allowed.granted() <= 1);
    let (by, denied) = decide(OnStoreError::Deny);
    assert!(by == DecidedBy::Policy && !denied.is_allowed());
}

/// A set of a counter of the node's scope and a shared one.
struct MixedScopeSet {
    stage: TestBed,
    store: Redis,
    own: Limit,
    shared: Limit,
}

impl MixedScopeSet {
    fn new() -> Self {
        let stage = TestBed::on(ServerKind::Redis);
        let store = stage.start(stage.apart().deny_cache(false));
        let both = Self { stage, store, own: slow("own"), shared: slow("shared") };
        both.apply(&[both.own().cost(units(6)), both.shared().cost(units(8))], false);
        both
    }

    fn own(&self) -> Check<'_> {
        Check::new(&self.own, "caller").scoped(Scope::Node)
    }

    fn shared(&self) -> Check<'_> {
        Check::new(&self.shared, "caller")
    }

    fn apply(&self, checks: &[Check<'_>], independent: bool) -> (Applied, Vec<Option<Decision>>) {
        let id = next_set_id();
        let set = if independent { Set::independent(checks, id) } else { Set::all(checks, id) };
        let mut decisions = vec![None; checks.len()];
        let applied = self.stage.block_on(apply_set(&self.store, &set, &mut decisions)).unwrap();
        (applied, decisions)
    }

    fn used(&self, check: Check<'_>) -> u64 {
        let (_, peeked) = self.stage.block_on(ask(&self.store, check.cost(Cost::ZERO)));
        peeked.limit() - peeked.remaining()
    }
}

#[test]
fn refunds_to_the_node_wait_until_the_server_admits() {
    retry_if_stalled(|| {
        let both = MixedScopeSet::new();
        let refund = both.own().with_operation(Operation::Refund(units(2)));
        let (applied, decisions) = both.apply(&[refund, both.shared().cost(units(3))], false);
        assert_eq!(applied.ruling, Ruling::Refused);
        assert_eq!(decisions[0].unwrap().granted(), 0);
        assert_eq!(both.used(both.own()), 6, "the server refused");
        let (applied, decisions) = both.apply(&[refund, both.shared().cost(units(2))], false);
        assert_eq!(applied.ruling, Ruling::Admitted);
        let given = decisions[0].unwrap();
        assert_eq!((given.granted(), given.remaining()), (2, 6));
        assert_eq!((both.used(both.own()), both.used(both.shared())), (4, 10));
    });
}

#[test]
fn an_independent_term_refunds_whether_or_not_the_server_admits() {
    retry_if_stalled(|| {
        let both = MixedScopeSet::new();
        let refund = both.own().with_operation(Operation::Refund(units(2)));
        let refused = both.shared().cost(units(3));
        let (applied, decisions) = both.apply(&[refund, refused], true);
        assert_eq!(applied.ruling, Ruling::Refused);
        assert_eq!(decisions[0].unwrap().granted(), 2);
        assert_eq!(both.used(both.own()), 4);
    });
}

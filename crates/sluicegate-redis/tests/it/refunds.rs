//! Units that come back without a receipt, while the store is away and while nobody knows.

use std::time::Duration;

use sluicegate::{Applied, By, Store, fresh_id};
use sluicegate_core::{Ask, Check, Cost, Decision, Gate, Limit, Outage, Ruling, Scope, Set};
use sluicegate_redis::{Options, Redis};
use sluicegate_testkit::{FaultProxy, Kind, PATIENCE, retry_if_stalled};

use crate::asking::ask;
use crate::stage::{Stage, options};

/// So slow that nothing comes back by itself while a test runs.
fn slow(name: &'static str) -> Limit {
    Limit::token_bucket(name, "1/day burst 10".parse().unwrap()).unwrap()
}

fn units(units: u32) -> Cost {
    Cost::from(units)
}

/// A node behind a proxy. It is alone, so that its share is all there is.
struct Behind {
    node: Redis,
    proxy: FaultProxy,
    stage: Stage,
}

impl Behind {
    fn new() -> Self {
        let stage = Stage::on(Kind::Redis);
        let proxy = FaultProxy::to(stage.server.address());
        let patient = |options: Options| options.deadline(Duration::from_secs(1)).unwrap();
        let node = stage.start(patient(options(&proxy.url())));
        Self { node, proxy, stage }
    }

    fn ask(&self, check: Check<'_>) -> (By, Decision) {
        let (applied, decision) = self.stage.block_on(ask(&self.node, check));
        (applied.by, decision)
    }

    /// Units used, as the server has counted them. Whoever looks is another node.
    fn used(&self, limit: &Limit) -> u64 {
        let clear = self.stage.start(self.stage.options());
        let peek = Check::new(limit, "caller").ask(Ask::Charge(Cost::ZERO));
        let (applied, standing) = self.stage.block_on(ask(&clear, peek));
        assert_eq!(applied.by, By::Store);
        standing.limit() - standing.remaining()
    }

    fn comes_back(&self) {
        self.proxy.forward();
        let reached = self.stage.block_on(self.node.reached(PATIENCE));
        assert!(reached, "the server is there again");
    }
}

#[test]
fn what_comes_back_while_the_store_is_away_is_the_share_s_and_never_rides() {
    retry_if_stalled(|| {
        let behind = Behind::new();
        let limit = slow("share");
        let check = Check::new(&limit, "caller");
        behind.ask(check.cost(units(4)));
        behind.proxy.refuse();
        // The first to find out may have been heard: its units are in doubt. Nothing is taken.
        let away = || behind.ask(check.ask(Ask::Charge(Cost::ZERO))).0 == By::Share;
        sluicegate_testkit::wait_until("the store is given up", PATIENCE, away);
        let (by, taken) = behind.ask(check.cost(units(3)));
        assert_eq!((by, taken.remaining()), (By::Share, 3), "of 10, beside the 4 that it had seen");
        let (by, given) = behind.ask(check.ask(Ask::Refund(units(5))));
        assert_eq!((by, given.granted(), given.remaining()), (By::Share, 5, 8));
        behind.comes_back();
        sluicegate_testkit::wait_until("the node asks the store", PATIENCE, || {
            behind.ask(check.ask(Ask::Charge(Cost::ZERO))).0 == By::Store
        });
        // Of the 3 taken meanwhile 2 are used in the end. All 3 are charged if they had set out before
        // the rest came back; what came back is never told.
        let used = behind.used(&limit);
        assert!((6..=7).contains(&used), "{used} are used");
    });
}

#[test]
fn what_the_store_may_have_given_back_is_not_given_back_again() {
    retry_if_stalled(|| {
        let behind = Behind::new();
        let limit = slow("doubtful");
        let check = Check::new(&limit, "caller");
        behind.ask(check.cost(units(6)));
        // The server knows the script, so that one message is all it takes.
        behind.ask(check.ask(Ask::Charge(Cost::ZERO)));
        // It is sent, and waits in a server that stands still.
        behind.stage.server.pause();
        let (by, given) = behind.ask(check.ask(Ask::Refund(units(2))));
        behind.stage.server.resume();
        assert_eq!((by, given.granted()), (By::Share, 0), "it may be done yet");
        assert_eq!(given.remaining(), 4, "the share is used as the store was seen");
        assert_eq!(behind.used(&limit), 4, "the store has done it, once");
        sluicegate_testkit::wait_until("the node asks the store", PATIENCE, || {
            behind.ask(check.ask(Ask::Charge(Cost::ZERO))).0 == By::Store
        });
        assert_eq!(behind.used(&limit), 4, "nothing was told later");
    });
}

#[test]
fn without_the_store_a_refund_goes_the_way_of_its_set() {
    let behind = Behind::new();
    let limit = slow("policy");
    let check = Check::new(&limit, "caller").ask(Ask::Refund(units(1)));
    behind.proxy.refuse();
    let asked = |outage| behind.ask(check.if_unreachable(outage));
    let away = || asked(Outage::Allow).0 == By::Policy;
    sluicegate_testkit::wait_until("the store is given up", PATIENCE, away);
    let (_, allowed) = asked(Outage::Allow);
    assert!(allowed.is_allowed() && allowed.granted() <= 1);
    let (by, denied) = asked(Outage::Deny);
    assert!(by == By::Policy && !denied.is_allowed());
}

/// A set of a node's own counter and a shared one.
struct Both {
    stage: Stage,
    store: Redis,
    own: Limit,
    shared: Limit,
}

impl Both {
    fn new() -> Self {
        let stage = Stage::on(Kind::Redis);
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
        let id = fresh_id();
        let set = if independent { Set::independent(checks, id) } else { Set::all(checks, id) };
        let mut decisions = vec![None; checks.len()];
        let applied = self.stage.block_on(self.store.apply(&set, &mut decisions)).unwrap();
        (applied, decisions)
    }

    fn used(&self, check: Check<'_>) -> u64 {
        let (_, standing) = self.stage.block_on(ask(&self.store, check.cost(Cost::ZERO)));
        standing.limit() - standing.remaining()
    }
}

#[test]
fn what_comes_back_to_the_node_waits_until_the_server_admits() {
    retry_if_stalled(|| {
        let both = Both::new();
        let refund = both.own().ask(Ask::Refund(units(2)));
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
fn a_term_of_its_own_gives_back_whatever_the_server_says() {
    retry_if_stalled(|| {
        let both = Both::new();
        let refund = both.own().ask(Ask::Refund(units(2)));
        let refused = both.shared().cost(units(3));
        let (applied, decisions) = both.apply(&[refund, refused], true);
        assert_eq!(applied.ruling, Ruling::Refused);
        assert_eq!(decisions[0].unwrap().granted(), 2);
        assert_eq!(both.used(both.own()), 4);
        // A shadow goes with the term it stands in: one that refuses, and one that does not.
        let shadow = |cost| [both.own().cost(units(cost)), refund.observed().or_else(), refused];
        assert_eq!(shadow(1)[1].gate(), Gate::Observe);
        both.apply(&shadow(9), true);
        assert_eq!(both.used(both.own()), 4);
        both.apply(&shadow(1), true);
        assert_eq!(both.used(both.own()), 3, "one more, and two back");
    });
}

//! Tests of a primary that is cut off from its replicas, its sentinels and all nodes but one.

use std::time::Duration;

use sluicegate_core::{OnStoreError, Per, Quota, Span, Time};
use sluicegate_testkit::{
    ConnectionId, FaultProxy, PATIENCE, Sentinels, SentinelsBuilder, ServerKind, wait_until,
};

use crate::failover::{is_on, wait_until_all_on_primary};
use crate::fault_trial::{
    NODES, Record, Report, Rules, Trial, assert_waits, is_long, let_pass, long_or,
};
use crate::harness::guarded_sentinels;

/// The node that is alone with the old primary, and the other one.
const ALONE: usize = 0;
const OTHER: usize = 1;

/// Seconds without a replica after which a primary refuses writes.
const LAG: u64 = 2;

/// A group in which a primary can be isolated, the nodes on it, and the proxies between one of them
/// and the sentinels.
struct PartitionedGroup {
    trial: Trial<Sentinels>,
    /// The connections of the node that is alone with the primary.
    kept: Vec<ConnectionId>,
    to_sentinels: Vec<FaultProxy>,
}

impl PartitionedGroup {
    fn new(group: SentinelsBuilder) -> Self {
        let group = group.behind_proxies().start();
        let in_front = |port: u16| FaultProxy::to(([127, 0, 0, 1], port).into());
        let to_sentinels: Vec<_> = group.sentinel_ports().into_iter().map(in_front).collect();
        let hosts = to_sentinels.iter().map(|proxy| proxy.address().to_string());
        let through_proxies =
            format!("redis+sentinel://{}/mymaster", hosts.collect::<Vec<_>>().join(","));
        let mut open: Vec<Vec<ConnectionId>> = Vec::new();
        let trial = Trial::each(group, |group, node| {
            open.push(group.proxy(0).connections());
            if node == ALONE { through_proxies.clone() } else { group.url() }
        });
        let [before, after] = &open[..] else { panic!("one list for each of {NODES} nodes") };
        let kept: Vec<_> = after.iter().filter(|id| !before.contains(id)).copied().collect();
        assert!(!kept.is_empty(), "a node has a connection");
        Self { trial, kept, to_sentinels }
    }

    fn group(&self) -> &Sentinels {
        self.trial.server()
    }

    /// Leaves the primary alone with one node, which may or may not reach the sentinels.
    fn isolate(&self, hears_sentinels: bool) {
        self.group().proxy(0).isolate(&self.kept);
        if !hears_sentinels {
            self.to_sentinels.iter().for_each(FaultProxy::silent);
        }
    }

    fn heal(&self) {
        self.group().proxy(0).heal();
        self.to_sentinels.iter().for_each(|proxy| {
            proxy.heal();
        });
    }

    fn wait_until_on(&self, node: usize, server: usize) {
        wait_until("a node is on the new primary", PATIENCE, || {
            is_on(&self.trial.nodes[node], self.group(), server)
        });
    }
}

/// The times when a primary was isolated and rejoined, and when all nodes used the new one.
struct PartitionTimes {
    isolated: Time,
    healed: Time,
    together: Time,
}

#[test]
fn two_primaries_grant_at_most_a_burst_and_three_seconds_more() {
    let split = PartitionedGroup::new(guarded_sentinels(ServerKind::Redis).min_replicas(LAG));
    let trial = &split.trial;
    let mut course = None;
    let report = trial.run(|| {
        let_pass(Duration::from_secs(1));
        let isolated = trial.now();
        split.isolate(false);
        let to = split.group().wait_until_switched(0);
        split.wait_until_on(OTHER, to);
        wait_until("the old primary writes nothing more", PATIENCE, || {
            !trial.nodes[ALONE].health().up
        });
        let lasted: Duration = trial.now().since(isolated).into();
        let_pass(Duration::from_secs(long_or(20, 4)).saturating_sub(lasted));
        let healed = trial.now();
        split.heal();
        split.wait_until_on(ALONE, to);
        trial.wait_for("both are on the new primary", |node| is_on(node, split.group(), to));
        course = Some(PartitionTimes { isolated, healed, together: trial.now() });
        // The old primary is demoted only now.
        let_pass(Duration::from_secs(long_or(10, 1)));
        wait_until_all_on_primary(trial);
    });
    let course = course.unwrap();
    let together = course.together.since(course.healed);
    let last = last_shared(&report, &course);
    eprintln!(
        "isolated for {:?}: the old primary decided for {:?}, all together {:?} after it healed",
        Duration::from(course.healed.since(course.isolated)),
        Duration::from(last.since(course.isolated)),
        Duration::from(together),
    );
    assert!(last > course.isolated, "one node went on with the old primary");
    assert!(!is_long() || together <= Span::from_secs(2), "{together:?}");
    report.assert_policies();
    assert_waits(&report.all_waits(), Duration::from_millis(15), Duration::from_millis(100));
    let away = course.together.since(course.isolated);
    report.assert_beyond_rate(|rule| {
        let quota = Rules::quota(rule);
        let burst = quota.burst().unwrap();
        // Its own burst, and one more with the units that both primaries grant concurrently.
        let promised = 2 * burst + refilled(&quota, Span::from_secs(LAG + 1));
        match Rules::outage(rule) {
            OnStoreError::Deny => promised,
            // A node without a store has its share, and a share of the burst, in addition.
            _ => promised + burst + refilled(&quota, away) / 2,
        }
    });
    report.audit_around((course.isolated, course.together));
}

/// When the node that was alone with it was last answered by the old primary.
fn last_shared(report: &Report, course: &PartitionTimes) -> Time {
    let by_old = |record: &&Record| {
        record.node == ALONE && record.is_shared() && record.answered() < course.healed
    };
    report.records.iter().filter(by_old).map(Record::answered).max().unwrap()
}

/// The units that refill in this time.
fn refilled(quota: &Quota, span: Span) -> u64 {
    let Per::Span(period) = quota.per() else { panic!("a bucket has a span") };
    quota.amount() * span.as_micros() / period.as_micros()
}

#[test]
fn a_node_connected_to_sentinels_leaves_an_isolated_primary() {
    // It would do so forever, because it never stops writing.
    let split = PartitionedGroup::new(guarded_sentinels(ServerKind::Redis));
    let trial = &split.trial;
    let mut course = None;
    let report = trial.run(|| {
        let_pass(Duration::from_millis(500));
        let isolated = trial.now();
        split.isolate(true);
        let to = split.group().wait_until_switched(0);
        let named = trial.now();
        trial.wait_for("both are on the new primary", |node| is_on(node, split.group(), to));
        let together = trial.now();
        let_pass(Duration::from_millis(500));
        split.heal();
        let_pass(Duration::from_millis(long_or(10_000, 500)));
        wait_until_all_on_primary(trial);
        course = Some((isolated, named, together));
    });
    let (isolated, named, together) = course.unwrap();
    let (late, lasted) = (together.since(named), together.since(isolated));
    eprintln!(
        "both on the new primary {:?} after the switch, {:?} after the old one was cut off",
        Duration::from(late),
        Duration::from(lasted)
    );
    assert!(!is_long() || late <= Span::from_secs(1), "{late:?} after the switch");
    report.assert_policies();
    report.assert_beyond_rate(|rule| {
        let quota = Rules::quota(rule);
        3 * quota.burst().unwrap() + refilled(&quota, lasted) / 2
    });
    report.audit_around((isolated, together));
}

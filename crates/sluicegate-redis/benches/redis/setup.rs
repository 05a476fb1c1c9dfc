//! A server, the nodes that share it, and their limits.

use std::sync::LazyLock;
use std::time::Duration;

use sluicegate::{Limit, Limiter};
use sluicegate_redis::{Event, Options, Redis, Stats};
use sluicegate_testkit::{Cluster, Server, ServerKind};
use tokio::runtime::{Builder, Runtime};

use crate::cpu_affinity;

/// The time in which a unit refills, and all of them: no caller runs out.
pub(crate) const UNIT_MICROS: u64 = 3_600_000;
pub(crate) const RECOVERY_MICROS: u64 = 1_000 * UNIT_MICROS;

/// The first is the limit of single checks; the others form the set of four.
pub(crate) static LIMITS: LazyLock<[Limit; 5]> = LazyLock::new(|| {
    ["per-user", "four-a", "four-b", "four-c", "four-d"]
        .map(|name| Limit::token_bucket(name, "1000/h burst 1000".parse().unwrap()).unwrap())
});

/// A server, or those of a cluster, and nodes on it.
pub(crate) struct BenchServers<S = Server> {
    // Dropped before the servers they use.
    pub(crate) nodes: Vec<Limiter<Redis>>,
    pub(crate) runtime: Runtime,
    pub(crate) server: S,
}

/// The processes whose processor time is measured.
pub(crate) trait CpuProcesses {
    fn time(&self) -> Duration;
}

impl CpuProcesses for Server {
    fn time(&self) -> Duration {
        self.cpu_time()
    }
}

impl CpuProcesses for Cluster {
    fn time(&self) -> Duration {
        self.servers().iter().map(Server::cpu_time).sum()
    }
}

impl BenchServers {
    /// This number of nodes, on an empty server with a core for itself.
    pub(crate) fn new(kind: ServerKind, nodes: usize) -> Self {
        let server = Server::setup(kind).start();
        cpu_affinity::keep_to_its_own(&server);
        let url = server.url();
        Self::behind(server, &url, nodes)
    }
}

impl BenchServers<Cluster> {
    /// This number of nodes, on an empty cluster of three primaries.
    pub(crate) fn cluster(kind: ServerKind, nodes: usize) -> Self {
        let cluster = Cluster::setup(kind).replicas_each(0).start();
        for server in cluster.servers() {
            cpu_affinity::keep_to_its_own(server);
        }
        let url = cluster.url();
        Self::behind(cluster, &url, nodes)
    }
}

impl<S> BenchServers<S> {
    /// The same, at another address than the server's own.
    pub(crate) fn behind(server: S, url: &str, nodes: usize) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let nodes = (0..nodes).map(|_| node(&runtime, url)).collect();
        Self { nodes, runtime, server }
    }

    /// The counters of all nodes together.
    pub(crate) fn counted(&self, what: impl Fn(Stats) -> u64) -> u64 {
        self.nodes.iter().map(|node| what(node.store().counts())).sum()
    }

    /// Decisions that were not the server's, because it did not answer in time.
    pub(crate) fn without_server(&self) -> u64 {
        let disagreements = self.counted(|counts| counts.disagreements);
        assert_eq!(disagreements, 0, "the server and the nodes agree");
        self.counted(|counts| counts.by_share + counts.allowed_by_policy + counts.denied_by_policy)
    }

    /// Waits until every node is connected to the server.
    pub(crate) fn wait_for_server(&self) {
        for node in &self.nodes {
            let store = node.store();
            let reached =
                self.runtime.block_on(store.wait_until_connected(Duration::from_secs(20)));
            assert!(reached, "the server can be reached: {:?}", store.health());
        }
    }
}

fn node(runtime: &Runtime, url: &str) -> Limiter<Redis> {
    let _within = runtime.enter();
    // As long as possible: latencies show in the figures, and a busy machine is no outage.
    let options = Options::new(url).unwrap().deadline(Duration::from_secs(1)).unwrap();
    let options = options.on_event(|event| {
        if !matches!(event, Event::Reached { .. }) {
            println!("\n{event}");
        }
    });
    let store = Redis::start(options).unwrap();
    assert!(
        runtime.block_on(store.wait_until_connected(Duration::from_secs(20))),
        "{:?}",
        store.health()
    );
    Limiter::new(store)
}

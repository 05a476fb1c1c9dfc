//! A server and stores on it, for one test.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sluicegate::ManualClock;
use sluicegate_redis::{Options, Redis};
use sluicegate_testkit::{
    Cluster, ClusterBuilder, PATIENCE, Sentinels, SentinelsBuilder, Server, ServerBuilder,
    ServerKind,
};
use tokio::runtime::{Builder, Runtime};

/// The user of all tests.
pub(crate) const USER: &str = "sluicegate";
/// The password of the user.
pub(crate) const PASSWORD: &str = "asSmallAsCanBe";
/// All permissions of this user, as documented.
pub(crate) const PERMISSIONS: &str = "resetkeys resetchannels -@all ~sluicegate:* &sluicegate:* \
    +eval +evalsha +time +mget +set +setrange +exists +del +publish \
    +zadd +zscore +zcard +zremrangebyscore +pexpire +subscribe +info";
/// Additional permissions where sentinels name the primary.
pub(crate) const WITH_SENTINELS: &str = "+role +wait";
/// Additional permissions in a cluster.
pub(crate) const IN_A_CLUSTER: &str = "+cluster|slots +asking +wait";

/// The builder of a server with that user.
pub(crate) fn setup(kind: ServerKind) -> ServerBuilder {
    Server::setup(kind).user(&format!("{USER} on >{PASSWORD} {PERMISSIONS}"))
}

/// The servers that stores can be started on.
pub(crate) trait TestServers {
    fn url(&self) -> String;
}

impl TestServers for Server {
    fn url(&self) -> String {
        Server::url(self)
    }
}

impl TestServers for Sentinels {
    fn url(&self) -> String {
        Sentinels::url(self)
    }
}

impl TestServers for Cluster {
    fn url(&self) -> String {
        Cluster::url(self)
    }
}

/// A primary, two replicas and three sentinels with that user.
pub(crate) fn sentinels(kind: ServerKind) -> Sentinels {
    guarded_sentinels(kind).start()
}

/// The builder of such a group.
pub(crate) fn guarded_sentinels(kind: ServerKind) -> SentinelsBuilder {
    let user = format!("{USER} on >{PASSWORD} {PERMISSIONS} {WITH_SENTINELS}");
    Sentinels::setup(kind).user(&user)
}

/// A cluster of three primaries, with this number of replicas each and that user.
pub(crate) fn cluster(kind: ServerKind, replicas: u16) -> Cluster {
    guarded_cluster(kind).replicas_each(replicas).start()
}

/// The builder of such a cluster.
pub(crate) fn guarded_cluster(kind: ServerKind) -> ClusterBuilder {
    let user = format!("{USER} on >{PASSWORD} {PERMISSIONS} {IN_A_CLUSTER}");
    Cluster::setup(kind).user(&user)
}

/// The URL of a server, or of a proxy in front of one, with that user.
pub(crate) fn options(url: &str) -> Options {
    Options::new(url).unwrap().username(USER).password(PASSWORD.to_owned())
}

/// A server or several, and a runtime for the stores on it.
pub(crate) struct TestBed<G = Server> {
    pub(crate) runtime: Runtime,
    pub(crate) server: G,
    prefixes: AtomicUsize,
}

impl TestBed {
    pub(crate) fn on(kind: ServerKind) -> Self {
        Self::with(setup(kind).start())
    }

    /// The number of calls of `EVAL` so far, which only heartbeats and new scripts make.
    pub(crate) fn beats(&self) -> u64 {
        let stats = &self.server.info("commandstats")["cmdstat_eval"];
        let calls = stats.split(',').find_map(|field| field.strip_prefix("calls="));
        calls.unwrap().parse().unwrap()
    }
}

impl<G: TestServers> TestBed<G> {
    pub(crate) fn with(server: G) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { runtime, server, prefixes: AtomicUsize::new(0) }
    }

    pub(crate) fn options(&self) -> Options {
        // As long as possible, because a busy machine is no outage.
        options(&self.server.url()).deadline(Duration::from_secs(1)).unwrap()
    }

    /// A store that decides at the times of `clock`, with counters of its own.
    pub(crate) fn driven(&self, clock: ManualClock) -> Redis {
        self.start(self.apart().deny_cache(false).driven_by(clock))
    }

    /// The same with this number of pages: with one, all counters are in one slot of a cluster.
    pub(crate) fn driven_on(&self, pages: u32, clock: ManualClock) -> Redis {
        let options = self.apart().deny_cache(false).driven_by(clock);
        self.start(options.pages(pages).unwrap())
    }

    /// Options of a store with counters of its own.
    pub(crate) fn apart(&self) -> Options {
        let number = self.prefixes.fetch_add(1, Ordering::Relaxed);
        self.options().prefix(&format!("sluicegate:{number}:")).unwrap()
    }

    /// A store that is connected to the server.
    pub(crate) fn start(&self, options: Options) -> Redis {
        let store = self.begin(options);
        let reached = self.block_on(store.wait_until_connected(PATIENCE));
        assert!(reached, "the server can be reached: {:?}", store.health());
        store
    }

    /// A store that may not be connected yet.
    pub(crate) fn begin(&self, options: Options) -> Redis {
        let _within = self.runtime.enter();
        Redis::start(options).unwrap()
    }

    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

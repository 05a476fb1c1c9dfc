//! A server and stores on it, for one test.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tollgate::ManualClock;
use tollgate_redis::{Options, Redis};
use tollgate_testbed::{Kind, Server, Setup};

/// Who every test is to the server.
pub(crate) const USER: &str = "tollgate";
/// What proves it.
pub(crate) const PASSWORD: &str = "asSmallAsCanBe";
/// All that this user may do, as the documentation says.
pub(crate) const PERMISSIONS: &str = "resetkeys resetchannels -@all ~tollgate:* &tollgate:* \
    +eval +evalsha +time +mget +set +setrange +exists +del +publish \
    +zadd +zscore +zcard +zremrangebyscore +pexpire +subscribe +info";

/// A server with that user, to say more about.
pub(crate) fn setup(kind: Kind) -> Setup {
    Server::setup(kind).user(&format!("{USER} on >{PASSWORD} {PERMISSIONS}"))
}

/// How that user reaches a server, or a proxy in front of one.
pub(crate) fn options(url: &str) -> Options {
    Options::new(url).unwrap().username(USER).password(PASSWORD.to_owned())
}

/// A server, and a runtime for the stores on it.
pub(crate) struct Stage {
    pub(crate) runtime: Runtime,
    pub(crate) server: Server,
    prefixes: AtomicUsize,
}

impl Stage {
    pub(crate) fn on(kind: Kind) -> Self {
        Self::with(setup(kind).start())
    }

    pub(crate) fn with(server: Server) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { runtime, server, prefixes: AtomicUsize::new(0) }
    }

    pub(crate) fn options(&self) -> Options {
        // As long as can be: a busy machine is no outage.
        options(&self.server.url()).deadline(Duration::from_secs(1)).unwrap()
    }

    /// A store that decides at the times of `clock`, with counters of its own.
    pub(crate) fn driven(&self, clock: ManualClock) -> Redis {
        self.start(self.apart().deny_cache(false).driven_by(clock))
    }

    /// Options of a store with counters of its own.
    pub(crate) fn apart(&self) -> Options {
        let number = self.prefixes.fetch_add(1, Ordering::Relaxed);
        self.options().prefix(&format!("tollgate:{number}:")).unwrap()
    }

    /// A store that has reached the server.
    pub(crate) fn start(&self, options: Options) -> Redis {
        let store = self.begin(options);
        let reached = self.block_on(store.reached(Duration::from_secs(20)));
        assert!(reached, "the server can be reached: {:?}", store.health());
        store
    }

    /// A store that may not have reached it yet.
    pub(crate) fn begin(&self, options: Options) -> Redis {
        let _within = self.runtime.enter();
        Redis::start(options).unwrap()
    }

    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

//! Limits, and stores on a server as nodes have them.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tollgate::{Limit, Limiter};
use tollgate_redis::{Counts, Options, Redis};

/// How long a unit takes to come back, and all of them: nobody here ever runs out.
pub(crate) const UNIT_MICROS: u64 = 3_600_000;
pub(crate) const RECOVERY_MICROS: u64 = 1_000 * UNIT_MICROS;

/// What a set of one asks: the first; a set of four: all but the first.
pub(crate) static LIMITS: LazyLock<[Limit; 5]> = LazyLock::new(|| {
    ["per-user", "four-a", "four-b", "four-c", "four-d"]
        .map(|name| Limit::token_bucket(name, "1000/h burst 1000".parse().unwrap()).unwrap())
});

/// A runtime with as many threads as the machine has cores.
pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A node that uses the server at this address.
pub(crate) fn node(runtime: &Runtime, url: &str) -> Limiter<Redis> {
    let _within = runtime.enter();
    // As long as can be: waiting shows in the figures, and a busy machine is no outage.
    let options = Options::new(url).unwrap().deadline(Duration::from_secs(1)).unwrap();
    let store = Redis::start(options).unwrap();
    let reached = runtime.block_on(store.reached(Duration::from_secs(20)));
    assert!(reached, "the server can be reached: {:?}", store.health());
    Limiter::new(store)
}

/// What some nodes have counted together.
pub(crate) fn counted(nodes: &[Limiter<Redis>], what: impl Fn(Counts) -> u64) -> u64 {
    nodes.iter().map(|node| what(node.store().counts())).sum()
}

/// Decisions that were not the server's, because it was not heard in time.
pub(crate) fn without_server(nodes: &[Limiter<Redis>]) -> u64 {
    let disagreements = counted(nodes, |counts| counts.disagreements);
    assert_eq!(disagreements, 0, "the server and the nodes agree");
    counted(nodes, |counts| counts.by_share + counts.allowed_by_policy + counts.denied_by_policy)
}

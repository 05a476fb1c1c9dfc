//! Tests that concurrent requests go to the server together.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::{Check, Limit, Limiter};
use sluicegate_redis::Redis;
use sluicegate_testkit::{PATIENCE, ServerKind, retry_if_stalled};
use tokio::runtime::Builder;

use crate::harness::{TestServers, cluster, options, setup};

/// The number of checks in one call.
const TOGETHER: u64 = 64;

/// That many tasks send at the same time, and again when they are answered: so many calls each
/// time.
fn share_calls(servers: &impl TestServers, calls: u64) {
    // On one thread all ready tasks run before the runtime waits for the network.
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = options(&servers.url()).deadline(Duration::from_secs(1)).unwrap();
        let limiter = Limiter::new(Redis::start(options).unwrap());
        assert!(limiter.store().wait_until_connected(PATIENCE).await);
        let limit = Arc::new(Limit::token_bucket("api", "10/min".parse().unwrap()).unwrap());
        let rounds = 3;
        let tasks: Vec<_> = (0..TOGETHER)
            .map(|task| {
                let (limiter, limit) = (limiter.clone(), Arc::clone(&limit));
                tokio::spawn(async move {
                    for _ in 0..rounds {
                        let key = task.to_string();
                        assert!(
                            limiter.check(Check::new(&limit, &key)).await.unwrap().is_allowed()
                        );
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let counts = limiter.store().counts();
        assert_eq!(counts.sets, rounds * TOGETHER);
        assert_eq!(counts.calls, rounds * calls, "{counts:?}");
    });
}

#[test]
fn concurrent_tasks_share_a_call_also_after_a_shared_answer() {
    retry_if_stalled(|| share_calls(&setup(ServerKind::Redis).start(), 1));
}

#[test]
fn tasks_in_many_slots_of_a_cluster_share_a_call_to_each_server() {
    retry_if_stalled(|| share_calls(&cluster(ServerKind::Redis, 0), 3));
}

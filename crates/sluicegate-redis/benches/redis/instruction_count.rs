//! Only decisions, so that valgrind can count their instructions.

use sluicegate_testkit::{Rng, ServerKind};

use crate::callers::CALLERS;
use crate::load::BenchOperation;
use crate::setup::{BenchServers, CpuProcesses};

/// As many as fit into two calls.
const TASKS: usize = 128;

/// Runs decisions on one node and one server.
pub(crate) fn on_one(times: usize) {
    run(&BenchServers::new(ServerKind::Redis, 1), times);
}

/// The same on a cluster of three.
pub(crate) fn on_cluster(times: usize) {
    run(&BenchServers::cluster(ServerKind::Redis, 1), times);
}

fn run<S: CpuProcesses>(ground: &BenchServers<S>, times: usize) {
    ground.each_task(TASKS, |node, task| {
        let mut draws = Rng::new(task as u64);
        async move {
            for _ in 0..times / TASKS {
                BenchOperation::one().about(&node, draws.index(CALLERS)).await;
            }
        }
    });
    assert_eq!(ground.without_server(), 0, "decided without the server");
    let calls = ground.counted(|counts| counts.calls);
    println!("{:.3} calls a decision", calls as f64 / times as f64);
}

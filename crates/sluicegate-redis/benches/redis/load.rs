//! Tasks that send one check after the other, as many as a node has concurrent requests.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use sluicegate::{Check, Cost, Limit, Limiter, OnStoreError, Operation, Plan};
use sluicegate_redis::Redis;
use sluicegate_testkit::Rng;
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::callers::{CALLERS, key};
use crate::setup::{BenchServers, CpuProcesses, LIMITS};

/// The operation to send.
#[derive(Clone, Copy)]
pub(crate) enum BenchOperation {
    /// One unit of a limit.
    One(&'static Limit),
    /// An unconditional charge, which reports failures to a cooldown.
    Charged(&'static Limit),
    /// A set of four.
    Four,
    /// Nothing: the cost of drawing callers and switching tasks.
    Nothing,
}

impl BenchOperation {
    /// The limit that most cases use.
    pub(crate) fn one() -> Self {
        Self::One(&LIMITS[0])
    }

    /// Sends a caller's check until it is allowed, which it is at once unless the server is down.
    pub(crate) async fn about(self, node: &Limiter<Redis>, caller: usize) {
        const PATIENCE: usize = 2_000;
        let key = key(caller);
        for _ in 0..PATIENCE {
            if self.is_allowed(node, &key).await {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("{key} has not been allowed for {PATIENCE} times");
    }

    async fn is_allowed(self, node: &Limiter<Redis>, key: &str) -> bool {
        // The server has counted everything that is allowed.
        let check = |limit| Check::new(limit, key).if_unreachable(OnStoreError::Deny);
        match self {
            Self::One(limit) => node.check(check(limit)).await.unwrap().is_allowed(),
            Self::Charged(limit) => node
                .check(check(limit).with_operation(Operation::Charge(Cost::ONE)))
                .await
                .unwrap()
                .is_allowed(),
            Self::Four => {
                let mut plan = Plan::new();
                for limit in &LIMITS[1..] {
                    plan.require(check(limit));
                }
                node.check_plan(&plan).await.unwrap().is_allowed()
            }
            Self::Nothing => {
                yield_now().await;
                !key.is_empty()
            }
        }
    }
}

/// The cost of some decisions.
#[derive(Clone, Copy)]
pub(crate) struct MeasuredCost {
    decisions: usize,
    by_the_clock: Duration,
    /// Processor time of the server, and of this process.
    server: Duration,
    own: Duration,
    /// Calls to the server.
    calls: u64,
}

impl MeasuredCost {
    pub(crate) fn server_micros(&self) -> f64 {
        micros_each(self.server, self.decisions)
    }

    pub(crate) fn own_micros(&self) -> f64 {
        micros_each(self.own, self.decisions)
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.decisions as f64 / self.by_the_clock.as_secs_f64()
    }

    /// Calls for each decision.
    pub(crate) fn trips(&self) -> f64 {
        self.calls as f64 / self.decisions as f64
    }
}

pub(crate) fn micros_each(time: Duration, count: usize) -> f64 {
    time.as_secs_f64() * 1e6 / count as f64
}

impl<S: CpuProcesses> BenchServers<S> {
    /// Sends checks of random callers, by this number of tasks of each node. A measurement during
    /// which nodes decided without the server, because this machine stalled for half a second, is
    /// invalid and repeated.
    pub(crate) fn load(
        &self,
        workload: BenchOperation,
        tasks: usize,
        decisions: usize,
    ) -> MeasuredCost {
        loop {
            let before = self.without_server();
            let taken = self.load_once(workload, tasks, decisions);
            let alone = self.without_server() - before;
            if alone == 0 {
                return taken;
            }
            println!("\nOnce more: {alone} decisions were made without the server.");
            self.wait_for_server();
        }
    }

    fn load_once(&self, workload: BenchOperation, tasks: usize, decisions: usize) -> MeasuredCost {
        let each = decisions / self.nodes.len() / tasks;
        let calls = self.counted(|counts| counts.calls);
        let (server, own, start) = (self.server.time(), own_time(), Instant::now());
        self.each_task(tasks, |node, _| {
            let mut draws = Rng::new(start.elapsed().as_nanos() as u64);
            async move {
                for _ in 0..each {
                    workload.about(&node, draws.index(CALLERS)).await;
                }
            }
        });
        MeasuredCost {
            decisions: each * self.nodes.len() * tasks,
            by_the_clock: start.elapsed(),
            server: self.server.time().checked_sub(server).unwrap(),
            own: own_time().checked_sub(own).unwrap(),
            calls: self.counted(|counts| counts.calls) - calls,
        }
    }

    /// Sends a check of every caller once, by this number of tasks of each node.
    pub(crate) fn fill(&self, workload: BenchOperation, tasks: usize, callers: usize) {
        let all = tasks * self.nodes.len();
        self.each_task(tasks, |node, task| async move {
            for caller in (task..callers).step_by(all) {
                workload.about(&node, caller).await;
            }
        });
    }

    /// Runs this number of tasks for each node, each with a number.
    pub(crate) fn each_task<F>(&self, tasks: usize, task: impl Fn(Limiter<Redis>, usize) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.runtime.block_on(async {
            let numbers = 0..tasks * self.nodes.len();
            let running: Vec<_> = numbers
                .map(|number| {
                    let node = self.nodes[number % self.nodes.len()].clone();
                    tokio::spawn(task(node, number))
                })
                .collect();
            for task in running {
                task.await.unwrap();
            }
        });
    }
}

/// Processor time of this process.
pub(crate) fn own_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap()
}

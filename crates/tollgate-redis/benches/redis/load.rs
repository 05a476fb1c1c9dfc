//! Tasks that ask one question after the other, as many as a node's requests at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Runtime;
use tokio::task::yield_now;
use tollgate::{Check, Limiter, Plan};
use tollgate_redis::Redis;
use tollgate_testbed::Server;

use crate::callers::Draws;
use crate::ground::{LIMITS, counted, without_server};

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// One limit.
    One,
    /// A set of four.
    Four,
    /// Nothing: what drawing callers and changing tasks costs by itself.
    Nothing,
}

/// Who asks what.
pub(crate) struct Load<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) server: &'a Server,
    pub(crate) nodes: &'a [Limiter<Redis>],
    pub(crate) keys: &'a Arc<Vec<String>>,
    pub(crate) asked: Asked,
    /// Tasks of each node.
    pub(crate) tasks: usize,
}

/// What that took.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) decisions: usize,
    pub(crate) by_the_clock: Duration,
    /// Processor time of the server, and of this process.
    pub(crate) server: Duration,
    pub(crate) own: Duration,
    /// Calls to the server.
    pub(crate) calls: u64,
}

impl Taken {
    pub(crate) fn server_micros(&self) -> f64 {
        self.server.as_secs_f64() * 1e6 / self.decisions as f64
    }

    pub(crate) fn own_micros(&self) -> f64 {
        self.own.as_secs_f64() * 1e6 / self.decisions as f64
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.decisions as f64 / self.by_the_clock.as_secs_f64()
    }

    pub(crate) fn trips(&self) -> f64 {
        self.calls as f64 / self.decisions as f64
    }
}

impl Load<'_> {
    /// Asks about so many. What was measured while the machine stood still for so long that nodes
    /// decided by themselves says nothing: then it is done again.
    pub(crate) fn run(&self, decisions: usize) -> Taken {
        loop {
            let before = without_server(self.nodes);
            let taken = self.run_once(decisions);
            let alone = without_server(self.nodes) - before;
            if alone == 0 {
                return taken;
            }
            println!("once more: {alone} decisions were made without the server");
            self.wait_for_server();
        }
    }

    fn wait_for_server(&self) {
        for node in self.nodes {
            let patience = Duration::from_secs(20);
            assert!(self.runtime.block_on(node.store().reached(patience)), "it comes back");
        }
    }

    fn run_once(&self, decisions: usize) -> Taken {
        let each = decisions / self.nodes.len() / self.tasks;
        let calls = counted(self.nodes, |counts| counts.calls);
        let (server, own, start) = (self.server.cpu_time(), own_time(), Instant::now());
        self.runtime.block_on(async {
            let mut tasks = Vec::new();
            for (number, node) in self.nodes.iter().enumerate() {
                for task in 0..self.tasks {
                    let draws = Draws::new(start.elapsed().as_nanos() as usize + task + number);
                    let (node, keys, asked) = (node.clone(), Arc::clone(self.keys), self.asked);
                    tasks.push(tokio::spawn(ask(node, keys, asked, draws, each)));
                }
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
        Taken {
            decisions: each * self.nodes.len() * self.tasks,
            by_the_clock: start.elapsed(),
            server: self.server.cpu_time().checked_sub(server).unwrap(),
            own: own_time().checked_sub(own).unwrap(),
            calls: counted(self.nodes, |counts| counts.calls) - calls,
        }
    }

    /// Asks every caller once, many at a time.
    pub(crate) fn fill(&self) {
        let per_task = self.keys.len().div_ceil(self.tasks);
        self.runtime.block_on(async {
            let mut tasks = Vec::new();
            for task in 0..self.tasks {
                let node = self.nodes[task % self.nodes.len()].clone();
                let (keys, asked) = (Arc::clone(self.keys), self.asked);
                tasks.push(tokio::spawn(async move {
                    for key in keys.iter().skip(task * per_task).take(per_task) {
                        assert!(ask_one(&node, key, asked).await);
                    }
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

async fn ask(
    node: Limiter<Redis>,
    keys: Arc<Vec<String>>,
    asked: Asked,
    mut draws: Draws,
    times: usize,
) {
    for _ in 0..times {
        assert!(ask_one(&node, &keys[draws.below(keys.len())], asked).await, "nobody runs out");
    }
}

/// Asks about one caller; whether it was allowed.
pub(crate) async fn ask_one(node: &Limiter<Redis>, key: &str, asked: Asked) -> bool {
    match asked {
        Asked::One => node.check(Check::new(&LIMITS[0], key)).await.unwrap().is_allowed(),
        Asked::Four => {
            let mut plan = Plan::new();
            for limit in &LIMITS[1..] {
                plan.require(Check::new(limit, key));
            }
            node.check_plan(&plan).await.unwrap().is_allowed()
        }
        Asked::Nothing => {
            yield_now().await;
            !key.is_empty()
        }
    }
}

/// Processor time of this process.
pub(crate) fn own_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap()
}

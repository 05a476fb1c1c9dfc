//! A trial: two nodes with fifty clients each, while something happens to their store.

mod clients;
mod record;
mod report;
mod rules;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sluicegate::{Clock, SystemClock};
use sluicegate_core::Time;
use sluicegate_redis::{Event, Options, Redis};
use sluicegate_testkit::{FaultProxy, Kind, PATIENCE, Server, StallMonitor, wait_until};

pub(crate) use self::record::Record;
pub(crate) use self::report::{Report, assert_waits};
pub(crate) use self::rules::{CLOSED, HOT, Rules};
use crate::stage::{Ground, Stage, options, setup};

pub(crate) const NODES: usize = 2;
const CLIENTS: usize = 50;

/// Whether there is time for the long versions: `SLUICEGATE_LONG=1`.
pub(crate) fn is_long() -> bool {
    std::env::var_os("SLUICEGATE_LONG").is_some()
}

/// One of two, as there is time.
pub(crate) fn long_or<T>(long: T, short: T) -> T {
    if is_long() { long } else { short }
}

/// The default deadline in a long run; a longer one on a machine that other programs use too.
fn usual_deadline() -> Duration {
    Duration::from_millis(long_or(10, 100))
}

pub(crate) fn deadline(options: Options) -> Options {
    options.deadline(usual_deadline()).unwrap()
}

/// The longest deadline there is, for tests that are not about deadlines.
pub(crate) fn patient(options: Options) -> Options {
    options.deadline(long_or(Duration::from_millis(10), Duration::from_secs(1))).unwrap()
}

/// Lets the nodes and their clients go on for a while.
#[allow(clippy::disallowed_methods, reason = "other processes have their own time")]
pub(crate) fn let_pass(time: Duration) {
    std::thread::sleep(time);
}

/// Only one trial at a time: each has clients for all of the machine.
static MACHINE: Mutex<()> = Mutex::new(());

/// The machine to ourselves in a long run, which measures; an ordinary one does not.
pub(crate) fn machine_alone() -> Option<MutexGuard<'static, ()>> {
    is_long().then(|| locked(&MACHINE))
}

/// What was told, when, by which node.
type Told = Arc<Mutex<Vec<(Time, usize, Event)>>>;

/// Two nodes, and their server or servers.
pub(crate) struct Trial<G = Server> {
    pub(crate) nodes: Vec<Arc<Redis>>,
    pub(crate) stage: Stage<G>,
    proxy: Option<FaultProxy>,
    pub(crate) rules: Arc<Rules>,
    clock: SystemClock,
    told: Told,
    /// How long clients pause between two questions.
    pub(crate) pause: Duration,
    admitted: clients::Admitted,
    _alone: MutexGuard<'static, ()>,
}

impl Trial {
    pub(crate) fn on(kind: Kind) -> Self {
        Self::with(setup(kind).start(), deadline)
    }

    /// On this server behind a proxy, with nodes that have these options.
    pub(crate) fn with(server: Server, more: impl Fn(Options) -> Options) -> Self {
        let proxy = FaultProxy::to(server.address());
        let url = proxy.url();
        let mut trial = Self::at(server, |_, _| url.clone(), more);
        trial.proxy = Some(proxy);
        trial
    }

    /// What is in front of the server.
    pub(crate) fn proxy(&self) -> &FaultProxy {
        self.proxy.as_ref().unwrap()
    }
}

impl<G: Ground> Trial<G> {
    /// On these servers, with nothing in front of them.
    pub(crate) fn straight(ground: G) -> Self {
        Self::each(ground, |ground, _| ground.url())
    }

    /// The same, with nodes that take only a long silence for an outage.
    pub(crate) fn patient(ground: G) -> Self {
        Self::at(ground, |ground, _| ground.url(), patient)
    }

    /// On these servers, each node at a URL of its own, which is asked for right before it starts.
    pub(crate) fn each(ground: G, url: impl FnMut(&G, usize) -> String) -> Self {
        Self::at(ground, url, deadline)
    }

    fn at(
        ground: G,
        mut url: impl FnMut(&G, usize) -> String,
        more: impl Fn(Options) -> Options,
    ) -> Self {
        let alone = locked(&MACHINE);
        let stage = Stage::with(ground);
        let (clock, told) = (SystemClock::new(), Told::default());
        let mut nodes = Vec::new();
        for node in 0..NODES {
            let told = Arc::clone(&told);
            let options = more(options(&url(&stage.server, node))).on_event(move |event| {
                locked(&told).push((clock.now(), node, event.clone()));
            });
            nodes.push(Arc::new(stage.start(options)));
        }
        let trial = Self {
            nodes,
            stage,
            proxy: None,
            rules: Arc::new(Rules::new()),
            clock,
            told,
            pause: Duration::from_millis(20),
            admitted: clients::Admitted::default(),
            _alone: alone,
        };
        trial.wait_for("every node knows of the others", |node| node.health().nodes == 2);
        trial
    }

    pub(crate) fn server(&self) -> &G {
        &self.stage.server
    }

    /// This machine's time, which is the server's too.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// What was told so far, when, by which node.
    pub(crate) fn told(&self) -> Vec<(Time, usize, Event)> {
        locked(&self.told).clone()
    }

    /// Waits until something is so on every node.
    pub(crate) fn wait_for(&self, what: &str, is_so: impl Fn(&Redis) -> bool) {
        wait_until(what, PATIENCE, || self.nodes.iter().all(|node| is_so(node)));
    }

    /// Waits until every node has given up a server that is gone since then; returns when that was.
    pub(crate) fn wait_until_given_up(&self, since: Time) -> Time {
        let given_up = |node: usize| {
            let mut told =
                self.told().into_iter().filter(|(at, by, _)| *by == node && *at >= since);
            let told = told.find(|(.., event)| matches!(event, Event::Degraded { .. }));
            let is_down = || (!self.nodes[node].health().up).then(|| self.now());
            told.map(|(at, ..)| at).or_else(is_down)
        };
        let mut last = None;
        wait_until("the server is given up", PATIENCE, || {
            let all: Option<Vec<Time>> = (0..NODES).map(given_up).collect();
            last = all.and_then(|all| all.into_iter().max());
            last.is_some()
        });
        last.unwrap()
    }

    /// Waits until the store admits another request of this rule.
    pub(crate) fn wait_until_admitted(&self, rule: usize) {
        let admitted = || self.admitted[rule].load(Ordering::Relaxed);
        let before = admitted();
        wait_until("the store admits a request", PATIENCE, || admitted() > before);
    }

    pub(crate) fn wait_until_shared(&self) {
        self.wait_for("decisions are shared again", |node| node.health().up);
    }

    /// Has all clients ask while `happens` happens; for so long at most, all in all.
    pub(crate) fn run(&self, happens: impl FnOnce()) -> Report {
        let (stop, began) = (Arc::new(AtomicBool::new(false)), self.now());
        let monitor = StallMonitor::start();
        let clients: Vec<_> = (0..NODES * CLIENTS)
            .map(|number| {
                let client = clients::Client {
                    node: number % NODES,
                    number: u64::try_from(number).unwrap(),
                    store: Arc::clone(&self.nodes[number % NODES]),
                    rules: Arc::clone(&self.rules),
                    clock: self.clock,
                    pause: self.pause,
                    admitted: Arc::clone(&self.admitted),
                };
                self.stage.runtime.spawn(client.ask_until(Arc::clone(&stop)))
            })
            .collect();
        happens();
        stop.store(true, Ordering::Relaxed);
        let records = clients.into_iter().flat_map(|client| self.stage.block_on(client).unwrap());
        Report::new(records.collect(), (began, self.now()), monitor.longest())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of memory that this process has now.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}

//! A trial: two nodes with fifty clients each, during a fault of their store.

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
use sluicegate_testkit::{FaultProxy, PATIENCE, Server, ServerKind, StallMonitor, wait_until};

pub(crate) use self::record::Record;
pub(crate) use self::report::{Report, assert_waits};
pub(crate) use self::rules::{CLOSED, HOT, Rules};
use crate::harness::{TestBed, TestServers, options, setup};

pub(crate) const NODES: usize = 2;
const CLIENTS: usize = 50;

/// Whether to run the long versions: `SLUICEGATE_LONG=1`.
pub(crate) fn is_long() -> bool {
    std::env::var_os("SLUICEGATE_LONG").is_some()
}

/// The first in a long run, otherwise the second.
pub(crate) fn long_or<T>(long: T, short: T) -> T {
    if is_long() { long } else { short }
}

/// The default deadline in a long run; a longer one on a machine that is shared.
fn usual_deadline() -> Duration {
    Duration::from_millis(long_or(10, 100))
}

pub(crate) fn deadline(options: Options) -> Options {
    options.deadline(usual_deadline()).unwrap()
}

/// The longest possible deadline, for tests that are not about deadlines.
pub(crate) fn patient(options: Options) -> Options {
    options.deadline(long_or(Duration::from_millis(10), Duration::from_secs(1))).unwrap()
}

/// Lets the nodes and their clients run for a while.
#[allow(clippy::disallowed_methods, reason = "other processes have their own time")]
pub(crate) fn let_pass(time: Duration) {
    std::thread::sleep(time);
}

/// Only one trial at a time, because its clients use the whole machine.
static MACHINE: Mutex<()> = Mutex::new(());

/// A lock for exclusive use of the machine in a long run, which measures; other runs need none.
pub(crate) fn machine_alone() -> Option<MutexGuard<'static, ()>> {
    is_long().then(|| locked(&MACHINE))
}

/// Events, with time and node.
type EventLog = Arc<Mutex<Vec<(Time, usize, Event)>>>;

/// Two nodes, and their server or servers.
pub(crate) struct Trial<G = Server> {
    pub(crate) nodes: Vec<Arc<Redis>>,
    pub(crate) stage: TestBed<G>,
    proxy: Option<FaultProxy>,
    pub(crate) rules: Arc<Rules>,
    clock: SystemClock,
    events: EventLog,
    /// The pause of a client between two requests.
    pub(crate) pause: Duration,
    admitted: clients::Admitted,
    _alone: MutexGuard<'static, ()>,
}

impl Trial {
    pub(crate) fn on(kind: ServerKind) -> Self {
        Self::with(setup(kind).start(), deadline)
    }

    /// A trial on this server behind a proxy, with these options of the nodes.
    pub(crate) fn with(server: Server, more: impl Fn(Options) -> Options) -> Self {
        let proxy = FaultProxy::to(server.address());
        let url = proxy.url();
        let mut trial = Self::at(server, |_, _| url.clone(), more);
        trial.proxy = Some(proxy);
        trial
    }

    /// The proxy in front of the server.
    pub(crate) fn proxy(&self) -> &FaultProxy {
        self.proxy.as_ref().unwrap()
    }
}

impl<G: TestServers> Trial<G> {
    /// A trial on these servers, without a proxy.
    pub(crate) fn straight(ground: G) -> Self {
        Self::each(ground, |ground, _| ground.url())
    }

    /// The same, with nodes that only treat a long silence as an outage.
    pub(crate) fn patient(ground: G) -> Self {
        Self::at(ground, |ground, _| ground.url(), patient)
    }

    /// A trial on these servers, each node at a URL of its own, computed right before it starts.
    pub(crate) fn each(ground: G, url: impl FnMut(&G, usize) -> String) -> Self {
        Self::at(ground, url, deadline)
    }

    fn at(
        ground: G,
        mut url: impl FnMut(&G, usize) -> String,
        more: impl Fn(Options) -> Options,
    ) -> Self {
        let alone = locked(&MACHINE);
        let stage = TestBed::with(ground);
        let (clock, events) = (SystemClock::new(), EventLog::default());
        let mut nodes = Vec::new();
        for node in 0..NODES {
            let events = Arc::clone(&events);
            let options = more(options(&url(&stage.server, node))).on_event(move |event| {
                locked(&events).push((clock.now(), node, event.clone()));
            });
            nodes.push(Arc::new(stage.start(options)));
        }
        let trial = Self {
            nodes,
            stage,
            proxy: None,
            rules: Arc::new(Rules::new()),
            clock,
            events,
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

    /// This machine's time, which is also the server's.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// The events so far, with time and node.
    pub(crate) fn events(&self) -> Vec<(Time, usize, Event)> {
        locked(&self.events).clone()
    }

    /// Waits until a condition holds on every node.
    pub(crate) fn wait_for(&self, what: &str, is_so: impl Fn(&Redis) -> bool) {
        wait_until(what, PATIENCE, || self.nodes.iter().all(|node| is_so(node)));
    }

    /// Waits until every node has marked a server down since `since`; returns when that was.
    pub(crate) fn wait_until_given_up(&self, since: Time) -> Time {
        let given_up = |node: usize| {
            let mut events =
                self.events().into_iter().filter(|(at, by, _)| *by == node && *at >= since);
            let events = events.find(|(.., event)| matches!(event, Event::Degraded { .. }));
            let is_down = || (!self.nodes[node].health().up).then(|| self.now());
            events.map(|(at, ..)| at).or_else(is_down)
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

    /// Runs all clients during `happens`; for at most this time altogether.
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

/// The resident memory of this process in bytes.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}

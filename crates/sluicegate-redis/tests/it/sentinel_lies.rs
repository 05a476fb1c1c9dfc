//! Tests that the answer of a sentinel is only a hint: it may be wrong, outdated, or false.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicegate::{Clock, DecidedBy, SystemClock};
use sluicegate_core::{Check, Limit, OnStoreError, Time};
use sluicegate_redis::{Event, Redis};
use sluicegate_testkit::{
    FaultProxy, PATIENCE, Sentinels, Server, ServerBuilder, ServerKind, free_port,
    retry_if_stalled, wait_until,
};

use crate::decided_by::ask;
use crate::failover::is_on;
use crate::fake_sentinel::{FakeSentinel, words};
use crate::fault_trial::{let_pass, long_or, machine_alone};
use crate::harness::{
    PASSWORD, PERMISSIONS, TestBed, TestServers, USER, WITH_SENTINELS, guarded_sentinels, options,
    setup,
};

const SENTINELS: usize = 3;

/// A server that reports its role.
fn open() -> ServerBuilder {
    let user = format!("{USER} on >{PASSWORD} {PERMISSIONS} {WITH_SENTINELS}");
    Server::setup(ServerKind::Redis).user(&user)
}

/// The URL of these sentinels.
fn url(ports: impl IntoIterator<Item = u16>) -> String {
    let hosts: Vec<_> = ports.into_iter().map(|port| format!("127.0.0.1:{port}")).collect();
    format!("redis+sentinel://{}/mymaster", hosts.join(","))
}

/// A store on these sentinels.
fn store(stage: &TestBed<impl TestServers>, ports: impl IntoIterator<Item = u16>) -> Redis {
    stage.begin(options(&url(ports)).deadline(Duration::from_secs(1)).unwrap())
}

/// The bound of connection attempts in this time: two in each started second, and one more for each
/// new address.
fn most_attempts(began: Time, moves: u64) -> u64 {
    2 * SystemClock::new().now().since(began).as_secs_ceil() + moves
}

/// Answers without an address.
fn answers_without_address() -> Vec<(&'static str, Vec<u8>)> {
    let long = "a".repeat(100_000);
    vec![
        ("port 0", words(&["127.0.0.1", "0"])),
        ("a port that is none", words(&["127.0.0.1", "70000"])),
        ("a negative port", words(&["127.0.0.1", "-1"])),
        ("a port in words", words(&["127.0.0.1", "redis"])),
        ("no host", words(&["", "6379"])),
        ("a host with a path", words(&["127.0.0.1/x", "6379"])),
        ("a host with a line break", words(&["127.0.0.1\r\nPING", "6379"])),
        ("an endless host", words(&[&long, "6379"])),
        ("one word", words(&["127.0.0.1"])),
        ("three words", words(&["127.0.0.1", "6379", "6380"])),
        ("nothing", b"_\r\n".to_vec()),
        ("an empty list", b"*0\r\n".to_vec()),
        ("numbers", b"*2\r\n:1\r\n:0\r\n".to_vec()),
        ("lists in lists", b"*2\r\n*1\r\n:1\r\n*0\r\n".to_vec()),
        ("no text", b"*2\r\n$2\r\n\xff\xfe\r\n$4\r\n6379\r\n".to_vec()),
        ("an error", b"-ERR no\r\n".to_vec()),
        ("an error that shuts out", b"-NOPERM no\r\n".to_vec()),
        ("no answer that can be read", b"!!!\r\n".to_vec()),
    ]
}

#[test]
fn no_sentinel_answer_speeds_up_reconnects() {
    let _alone = machine_alone();
    let stage = TestBed::with(open().start());
    let follow = format!("replicaof 127.0.0.1 {}", stage.server.port());
    // It would accept writes.
    let replica = open().line(&follow).line("replica-read-only no").start();
    let reticent = setup(ServerKind::Redis).line(&follow).start();
    let mut cases = answers_without_address();
    cases.push(("a closed port", words(&["127.0.0.1", &free_port().to_string()])));
    cases.push(("a host that is none", words(&["nowhere.invalid", "6379"])));
    cases.push(("a replica", words(&["127.0.0.1", &replica.port().to_string()])));
    let address = words(&["127.0.0.1", &reticent.port().to_string()]);
    cases.push(("a replica that may not say so", address));
    let mut liars: Vec<_> = cases
        .into_iter()
        .map(|(lie, reply)| {
            let fakes: Vec<_> = (0..SENTINELS).map(|_| FakeSentinel::start()).collect();
            for fake in &fakes {
                fake.says(&reply);
            }
            (lie, fakes)
        })
        .collect();
    // Each names itself, and reports that it is a sentinel; or what only a primary is.
    for (lie, role) in [("itself", None), ("itself, in a role that is none", Some(b"*0\r\n"))] {
        let fakes: Vec<_> = (0..SENTINELS).map(|_| FakeSentinel::start()).collect();
        for fake in &fakes {
            fake.names("127.0.0.1", &fake.port().to_string());
            if let Some(role) = role {
                fake.has_role(role);
            }
        }
        liars.push((lie, fakes));
    }
    let began = SystemClock::new().now();
    let stores: Vec<_> = liars
        .iter()
        .map(|(_, fakes)| store(&stage, fakes.iter().map(FakeSentinel::port)))
        .collect();
    let_pass(Duration::from_secs(long_or(10, 1)));
    wait_until("every store has tried and every sentinel was queried", PATIENCE, || {
        let queried = |fake: &FakeSentinel| fake.questions() > 0;
        let tried = |store: &Redis| store.counts().connections > 0 && store.health().why.is_some();
        stores.iter().all(tried) && liars.iter().all(|(_, fakes)| fakes.iter().all(queried))
    });
    let limit = Limit::token_bucket("api", "1/min burst 3".parse().unwrap()).unwrap();
    for ((lie, fakes), store) in liars.iter().zip(&stores) {
        let attempts = store.counts().connections;
        let most = most_attempts(began, 3);
        let health = store.health();
        let why = health.why.unwrap_or_default();
        eprintln!("{lie}: {attempts} attempts, {why:?}");
        assert!(!health.up && !why.is_empty(), "{lie}");
        assert!((1..=most).contains(&attempts), "{lie}: {attempts} attempts, at most {most}");
        for fake in fakes {
            let (connections, questions) = (fake.connections(), fake.questions());
            // It names itself, also as the server.
            let most = most * 2;
            assert!(connections <= most, "{lie}: connected {connections} times, at most {most}");
            assert!((1..=most).contains(&questions), "{lie}: queried {questions} times");
        }
        let closed = Check::new(&limit, "caller").if_unreachable(OnStoreError::Deny);
        let (applied, decision) = stage.block_on(ask(store, closed));
        assert_eq!((applied.by, decision.is_allowed()), (DecidedBy::Policy, false), "{lie}");
    }
    // The sentinel that finally names the right address is followed.
    for fake in liars.iter().flat_map(|(_, fakes)| fakes) {
        fake.names("127.0.0.1", &stage.server.port().to_string());
    }
    for ((lie, _), store) in liars.iter().zip(&stores) {
        wait_until("the truth is believed", PATIENCE, || store.health().up);
        assert_eq!(store.health().parts[0].address, stage.server.address().to_string(), "{lie}");
    }
}

#[test]
fn a_flapping_sentinel_does_not_speed_up_reconnects() {
    let _alone = machine_alone();
    let stage = TestBed::with(open().start());
    let fake = FakeSentinel::start();
    let own = stage.server.port();
    fake.names("127.0.0.1", &own.to_string());
    let store = store(&stage, [fake.port()]);
    assert!(stage.block_on(store.wait_until_connected(PATIENCE)));
    let (began, before) = (SystemClock::new().now(), store.counts().connections);
    let closed = free_port();
    for _ in 0..100 {
        for port in [closed, own] {
            fake.announces(port);
            let_pass(Duration::from_millis(5));
        }
    }
    let attempts = store.counts().connections - before;
    // Sooner than otherwise, because a new address may be right; but not each time.
    let most = 5 * most_attempts(began, 1);
    eprintln!("200 moves announced: {attempts} attempts, at most {most}");
    assert!(attempts <= most, "{attempts} attempts, at most {most}");
    wait_until("the last word counts", PATIENCE, || store.health().up);
}

#[test]
fn a_store_on_the_majoritys_primary_stays_there() {
    retry_if_stalled(|| {
        let _alone = machine_alone();
        let stage = TestBed::with(open().start());
        let proxy = FaultProxy::to(stage.server.address());
        let [liar, honest, late] = [(); SENTINELS].map(|()| FakeSentinel::start());
        let (here, nowhere) = (proxy.port().to_string(), free_port());
        proxy.refuse();
        honest.names("127.0.0.1", &here);
        let store = store(&stage, [&liar, &honest, &late].map(FakeSentinel::port));
        let tried = |times| {
            wait_until("it tries", PATIENCE, || store.counts().connections >= times);
        };
        tried(2);
        // One against one, and this is newer: it is tried first, and then the other.
        liar.names("127.0.0.1", &nowhere.to_string());
        liar.announces(nowhere);
        tried(store.counts().connections + 1);
        proxy.forward();
        wait_until("it is there", PATIENCE, || store.health().up);
        let before = store.counts();
        let queried = late.questions();
        late.names("127.0.0.1", &here);
        wait_until("it receives the message", PATIENCE, || late.questions() > queried + 1);
        assert!(store.health().up);
        assert_eq!(store.counts().connections, before.connections, "it did not connect again");
    });
}

/// Two sentinels that name the primary, and one that names any address.
struct Minority {
    stage: TestBed<Sentinels>,
    liar: FakeSentinel,
    store: Redis,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Minority {
    fn says(reply: &[u8]) -> Self {
        let stage = TestBed::with(guarded_sentinels(ServerKind::Redis).behind_proxies().start());
        let liar = FakeSentinel::start();
        liar.says(reply);
        let mut ports = stage.server.sentinel_ports();
        ports[0] = liar.port();
        let events = Arc::new(Mutex::new(Vec::new()));
        let sender_events = Arc::clone(&events);
        let store = stage.start(
            options(&url(ports))
                .deadline(Duration::from_secs(1))
                .unwrap()
                .on_event(move |event| sender_events.lock().unwrap().push(event.clone())),
        );
        Self { stage, liar, store, events }
    }

    fn wait_until_on_primary(&self) {
        let group = &self.stage.server;
        wait_until("it is where most say", PATIENCE, || is_on(&self.store, group, group.primary()));
    }
}

#[test]
fn the_majority_of_sentinels_decides() {
    retry_if_stalled(|| {
        let _alone = machine_alone();
        let closed = free_port().to_string();
        let minority = Minority::says(&words(&["127.0.0.1", &closed]));
        minority.wait_until_on_primary();
        minority.events.lock().unwrap().clear();
        let before = minority.store.counts().connections;
        for (_, reply) in answers_without_address() {
            minority.liar.says(&reply);
            minority.liar.announces(free_port());
            let_pass(Duration::from_millis(50));
        }
        assert_eq!(minority.store.counts().connections, before, "it stayed where it was");
        assert_eq!(*minority.events.lock().unwrap(), [], "no event was emitted");
        minority.wait_until_on_primary();
    });
}

#[test]
fn a_store_that_followed_a_minority_returns_to_the_majority() {
    retry_if_stalled(|| {
        let _alone = machine_alone();
        // A primary of another group, which accepts connections.
        let stranger = open().start();
        let minority = Minority::says(&words(&["127.0.0.1", &stranger.port().to_string()]));
        minority.wait_until_on_primary();
        // So long that it may reconnect at once.
        let_pass(Duration::from_secs(1));
        // For less time than sentinels need to notice.
        minority.events.lock().unwrap().clear();
        let proxy = minority.stage.server.proxy(0);
        proxy.refuse();
        wait_until("its end is noticed", PATIENCE, || !minority.events.lock().unwrap().is_empty());
        let_pass(Duration::from_millis(400));
        proxy.forward();
        minority.wait_until_on_primary();
        assert_eq!(minority.stage.server.primary(), 0, "the sentinels have not noticed");
    });
}

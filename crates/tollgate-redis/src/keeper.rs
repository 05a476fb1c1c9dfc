//! Looks after the connection: reaches the server, notices when it is gone, and reaches it again.

mod moments;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use tollgate::Clock;

use crate::clock::StoreClock;
use crate::connection::{Connector, Listener};
use crate::counts::Counters;
use crate::courier::Courier;
use crate::event::{Event, Health, ServerInfo};
use crate::failure::{Class, Failure};
use crate::heartbeat::{Beat, Heartbeat};
use crate::options::OnEvent;
use crate::owed::Owed;
use crate::seen::Seen;
use crate::twin::Naming;

/// Between two beats.
const BEAT: Duration = Duration::from_millis(500);
/// Between two beats of a server that answers, and not in time: it may at any moment.
const SOON: Duration = Duration::from_millis(50);
/// Between two attempts to connect, at least.
const PAUSE: Duration = Duration::from_millis(500);
/// Beats of which the one with the most nodes counts: one that was held up is still there.
const BEATS: usize = 10;
/// The server forgets a node that has not been heard for so long. Who comes back sooner and is not
/// known knows that more has been forgotten.
const REMEMBERED: Duration = Duration::from_millis(1_500);

/// Looks after the connection.
pub(crate) struct Keeper {
    pub(crate) connector: Connector,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) courier: Arc<Courier>,
    pub(crate) seen: Arc<Seen>,
    pub(crate) owed: Arc<Owed>,
    pub(crate) naming: Arc<Naming>,
    pub(crate) clock: StoreClock,
    pub(crate) counters: Arc<Counters>,
    pub(crate) on_event: Option<OnEvent>,
    pub(crate) condition: Arc<Condition>,
}

/// How the store is doing, for whoever asks.
#[derive(Debug)]
pub(crate) struct Condition {
    known: Mutex<Known>,
    nodes: AtomicU32,
    up: watch::Sender<bool>,
}

#[derive(Debug)]
struct Known {
    since: Instant,
    why: Option<String>,
    /// Whether it has been told that only a person can help.
    refused: bool,
    server: Option<ServerInfo>,
}

impl Condition {
    pub(crate) fn new(nodes: u32) -> Self {
        let why = Some(String::from("it has not been reached yet"));
        let known = Known { since: Instant::now(), why, refused: false, server: None };
        Self {
            known: Mutex::new(known),
            nodes: AtomicU32::new(nodes),
            up: watch::Sender::new(false),
        }
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.nodes.load(Ordering::Relaxed)
    }

    /// Waits until the store has been reached.
    pub(crate) async fn reached(&self) {
        // Whoever sends lives as long as this does.
        let _ = self.up.subscribe().wait_for(|up| *up).await;
    }

    pub(crate) fn health(&self, clock: &StoreClock) -> Health {
        let known = self.known();
        let Known { since, why, server, .. } = &*known;
        Health {
            up: why.is_none(),
            since: since.elapsed(),
            why: why.clone(),
            server: server.clone(),
            clock_offset_micros: server.as_ref().map(|_| clock.ahead()),
            nodes: self.nodes(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the connection hears: what others give back, and its own end.
struct Ear {
    seen: Arc<Seen>,
    /// Not the courier itself: that has the connection, which has this.
    trouble: Arc<Notify>,
    naming: Arc<Naming>,
    clock: StoreClock,
}

impl Listener for Ear {
    fn hear(&self, message: Option<&[u8]>) {
        match message {
            None => self.trouble.notify_one(),
            Some(message) => {
                if let Some(counter) = self.naming.counter_freed(message) {
                    self.seen.forget(counter, self.clock.machine());
                }
            }
        }
    }
}

/// What the keeper remembers between two connections.
struct Memory {
    beats: [u32; BEATS],
    next: usize,
    last_beat: Option<Instant>,
    last_run: Option<String>,
    attempt: Instant,
}

impl Keeper {
    /// Until the store is dropped.
    pub(crate) async fn keep(self) {
        let mut memory = Memory {
            beats: [0; BEATS],
            next: 0,
            last_beat: None,
            last_run: None,
            attempt: Instant::now(),
        };
        loop {
            sleep_until(memory.attempt).await;
            memory.attempt = self.next_moment(PAUSE, PAUSE);
            self.counters.connections.one();
            let failure = match self.connect(&mut memory).await {
                Ok(connection) => self.watch(connection, &mut memory).await,
                Err(failure) => {
                    self.count(&failure);
                    failure
                }
            };
            self.seen.stop_hearing();
            self.courier.give_up(&failure);
            // Nobody will ever know.
            self.owed.clear_doubts(false);
            self.degraded(&failure);
        }
    }

    async fn connect(&self, memory: &mut Memory) -> Result<MultiplexedConnection, Failure> {
        let ear = Ear {
            seen: Arc::clone(&self.seen),
            trouble: Arc::clone(&self.courier.trouble),
            naming: Arc::clone(&self.naming),
            clock: self.clock.clone(),
        };
        let (mut connection, server) = self.connector.connect(Arc::new(ear)).await?;
        self.seen.begin_hearing();
        let asked = Instant::now();
        let beat = self.heartbeat.beat(&mut connection).await?;
        let restarted = memory.last_run.as_ref().is_some_and(|run| *run != server.run);
        self.note(beat, restarted, memory);
        memory.last_run = Some(server.run.clone());
        self.reach(&connection, Some(server), asked.elapsed());
        Ok(connection)
    }

    /// Uses the server, if it answers quickly enough to be of use.
    fn reach(
        &self,
        connection: &MultiplexedConnection,
        server: Option<ServerInfo>,
        took: Duration,
    ) {
        if self.courier.is_in_time(took) {
            self.reached(connection, server);
            return;
        }
        // Everybody who asked would wait in vain.
        let why = format!("answers take {} ms, longer than the deadline", took.as_millis());
        let failure = Failure::new(Class::Timeout, why);
        self.courier.give_up(&failure);
        self.degraded(&failure);
    }

    /// Watches a connection until it is of no use any more; why it is not.
    async fn watch(&self, mut connection: MultiplexedConnection, memory: &mut Memory) -> Failure {
        loop {
            let next = if self.courier.why_down().is_some() {
                self.next_moment(SOON, SOON / 2)
            } else {
                Instant::now() + BEAT
            };
            tokio::select! {
                () = self.courier.trouble.notified() => {}
                () = sleep_until(next) => {}
            }
            let given_up = self.courier.why_down();
            if let Some(failure) = &given_up {
                self.seen.stop_hearing();
                self.degraded(failure);
                if failure.class.hangs_up() {
                    return failure.clone();
                }
            }
            let asked = Instant::now();
            match self.heartbeat.beat(&mut connection).await {
                Ok(beat) => {
                    let took = asked.elapsed();
                    self.note(beat, false, memory);
                    if self.courier.is_in_time(took) {
                        // It answers in turn, so whatever was sent before has been done.
                        self.owed.clear_doubts(true);
                    }
                    if given_up.is_some() {
                        self.seen.begin_hearing();
                        self.reach(&connection, None, took);
                    }
                }
                Err(failure) => {
                    self.count(&failure);
                    self.seen.stop_hearing();
                    self.courier.give_up(&failure);
                    self.degraded(&failure);
                    if failure.class == Class::Timeout || failure.class.hangs_up() {
                        return failure;
                    }
                    // It is there and says what is wrong with it: another connection would not help.
                    sleep_until(self.next_moment(PAUSE, PAUSE)).await;
                }
            }
        }
    }

    /// When to try again: at a moment of all nodes, so long from now at least.
    fn next_moment(&self, pause: Duration, least: Duration) -> Instant {
        Instant::now() + moments::wait(pause, least, self.condition.nodes(), self.clock.now())
    }

    /// Takes down what a beat said.
    fn note(&self, beat: Beat, restarted: bool, memory: &mut Memory) {
        self.clock.hear(beat.now, self.clock.machine());
        if let Some(place) = memory.beats.get_mut(memory.next % BEATS) {
            *place = beat.nodes;
        }
        memory.next = memory.next.wrapping_add(1);
        let most = memory.beats.iter().copied().max().unwrap_or(1);
        self.condition.nodes.store(most, Ordering::Relaxed);
        let recent = memory.last_beat.is_some_and(|last| last.elapsed() < REMEMBERED);
        if !beat.known && (recent || restarted) {
            self.counters.state_lost.one();
            // What was seen before is not how it stands.
            self.seen.begin_hearing();
            self.tell(&Event::StateLost);
        }
        self.owed.forget_recovered(beat.now);
        memory.last_beat = Some(Instant::now());
    }

    fn reached(&self, connection: &MultiplexedConnection, server: Option<ServerInfo>) {
        self.courier.open(connection.clone());
        let server = {
            let mut known = self.condition.known();
            known.why = None;
            known.refused = false;
            known.since = Instant::now();
            known.server = server.or_else(|| known.server.take());
            known.server.clone()
        };
        self.condition.up.send_replace(true);
        if let Some(server) = server {
            self.tell(&Event::Reached(server));
        }
    }

    /// Tells that the store is not there, once; and once more if only a person can help, because
    /// who is shut out often first sees nothing but a connection that is closed.
    fn degraded(&self, failure: &Failure) {
        let told = {
            let mut known = self.condition.known();
            let refused = failure.class == Class::Refused;
            let unheard = known.server.is_none() && known.why.as_ref() != Some(&failure.why);
            let first = known.why.is_none() || unheard || refused && !known.refused;
            known.refused |= refused;
            if known.why.is_none() {
                known.since = Instant::now();
            }
            if first || failure.class != Class::Down {
                known.why = Some(failure.why.clone());
            }
            first
        };
        self.condition.up.send_replace(false);
        if told {
            let why = failure.why.clone();
            self.tell(&match failure.class {
                Class::Refused => Event::Refused { why },
                _ => Event::Degraded { why },
            });
        }
    }

    fn count(&self, failure: &Failure) {
        if let Some(counter) = failure.class.counter(&self.counters) {
            counter.one();
        }
    }

    fn tell(&self, event: &Event) {
        if let Some(on_event) = &self.on_event {
            on_event(event);
        }
    }
}

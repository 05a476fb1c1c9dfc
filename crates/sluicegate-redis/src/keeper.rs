//! Looks after the connection: reaches the server, notices when it is gone, and reaches it again.

mod moments;

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use sluicegate::Clock;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use crate::address::Address;
use crate::common::Common;
use crate::condition::Condition;
use crate::connection::Listener;
use crate::courier::Courier;
use crate::event::{Event, ServerInfo};
use crate::failure::{Class, Failure};
use crate::heartbeat::{Beat, Heartbeat};
use crate::seen::Hearing;
use crate::whereabouts::{Connected, Whereabouts};

/// Between two beats.
const BEAT: Duration = Duration::from_millis(500);
/// Between two beats of a server that answers, and not in time: it may at any moment.
const SOON: Duration = Duration::from_millis(50);
/// Between two attempts to connect, at least.
const PAUSE: Duration = Duration::from_millis(500);
/// Between two attempts where the server is said to be somewhere else.
const MOVED: Duration = Duration::from_millis(100);
/// Beats of which the one with the most nodes counts: one that was held up is still there.
const BEATS: usize = 10;
/// The most messages about nodes that deregister to keep until they are read.
const DEREGISTRATIONS: usize = 64;
/// The server forgets a node that has not been heard for so long. Who comes back sooner and is not
/// known knows that more has been forgotten.
const REMEMBERED: Duration = Duration::from_millis(1_500);

/// Looks after the connection.
pub(crate) struct Keeper {
    pub(crate) common: Arc<Common>,
    pub(crate) link: u32,
    pub(crate) whereabouts: Arc<Whereabouts>,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) courier: Arc<Courier>,
    pub(crate) strict: Option<Arc<Courier>>,
    pub(crate) condition: Arc<Condition>,
    pub(crate) hearing: Arc<Hearing>,
    /// Asked to deregister this node and end.
    pub(crate) leave: Arc<Notify>,
}

/// What the connection hears: what others give back, and its own end.
struct Ear {
    common: Arc<Common>,
    /// Not the courier itself: that has the connection, which has this.
    trouble: Arc<Notify>,
    /// Messages that nodes have deregistered.
    deregistered: mpsc::Sender<Vec<u8>>,
}

impl Listener for Ear {
    fn hear(&self, message: Option<&[u8]>) {
        match message {
            None => self.trouble.notify_one(),
            Some(message) if Heartbeat::is_deregistration(message) => {
                // With so many unread a beat comes soon, which counts those that are left.
                let _ = self.deregistered.try_send(message.to_vec());
            }
            Some(message) => {
                if let Some(counter) = self.common.naming.counter_freed(message) {
                    self.common.seen.forget(counter, self.common.clock.machine());
                    self.common.counters.invalidations.one();
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
    /// Whether the server is another run of itself, and has not been asked since what it knows.
    restarted: bool,
    last_address: Option<Address>,
    /// Where the server was found, or was said to be when it was looked for in vain.
    told: Option<Address>,
    attempt: Instant,
    /// When the connection of those who wait for replicas may be tried again.
    next_strict: Instant,
    deregistered: mpsc::Receiver<Vec<u8>>,
}

impl Keeper {
    /// Until the store is dropped.
    pub(crate) async fn keep(mut self) {
        let mut memory = Memory {
            beats: [0; BEATS],
            next: 0,
            last_beat: None,
            last_run: None,
            restarted: false,
            last_address: None,
            told: None,
            attempt: Instant::now(),
            next_strict: Instant::now(),
            deregistered: mpsc::channel(1).1,
        };
        let mut began = Instant::now();
        loop {
            tokio::select! {
                () = sleep_until(memory.attempt) => {}
                () = self.leave.notified() => return,
                // There is somewhere to go; and not again and again if some cannot agree on where.
                () = self.whereabouts.moved(memory.told.as_ref()) => sleep_until(began + MOVED).await,
            }
            began = Instant::now();
            memory.attempt = self.next_moment(PAUSE, PAUSE);
            memory.told = self.whereabouts.told();
            self.common.counters.connections.one();
            let failure = match self.connect(&mut memory).await {
                Ok(connection) => match self.watch(connection, &mut memory).await {
                    Some(failure) => failure,
                    None => return,
                },
                Err(failure) => {
                    self.common.count(&failure);
                    failure
                }
            };
            self.hearing.stop();
            self.courier.give_up(&failure);
            if let Some(strict) = &self.strict {
                strict.give_up(&failure);
            }
            // Nobody will ever know.
            self.common.owed.clear_doubts(self.link, false);
            self.degraded(&failure);
        }
    }

    async fn connect(&mut self, memory: &mut Memory) -> Result<MultiplexedConnection, Failure> {
        let trouble = Arc::clone(&self.courier.trouble);
        let (deregistered, receiver) = mpsc::channel(DEREGISTRATIONS);
        memory.deregistered = receiver;
        let ear = Ear { common: Arc::clone(&self.common), trouble, deregistered };
        let Connected { mut connection, server, address } =
            self.whereabouts.connect(Arc::new(ear)).await?;
        self.common.seen.begin(&self.hearing, self.common.clock.machine());
        let asked = self.common.now();
        let beat = self.heartbeat.beat(&mut connection).await?;
        let took = self.common.now().saturating_duration_since(asked);
        // Another run of the same server: one that has taken its place was told what it knew.
        let same = memory.last_address.as_ref() == Some(&address);
        let again =
            memory.last_run.replace(server.run.clone()).is_some_and(|run| run != server.run);
        memory.restarted |= same && again;
        self.note(beat, memory);
        self.find(&address, memory);
        memory.told = Some(address);
        // Of what was asked over the last connection nobody will ever know.
        self.common.owed.clear_doubts(self.link, false);
        self.reach(&connection, Some(server), took);
        self.reach_strictly(memory);
        Ok(connection)
    }

    /// Has another connection for those who wait for replicas, if there is none and can be. Nobody waits
    /// for that here.
    fn reach_strictly(&self, memory: &mut Memory) {
        let Some(strict) = &self.strict else { return };
        let Some(address) = memory.last_address.clone() else { return };
        if strict.why_down().is_none() || memory.next_strict > Instant::now() {
            return;
        }
        memory.next_strict = Instant::now() + PAUSE;
        let (strict, whereabouts) = (Arc::clone(strict), Arc::clone(&self.whereabouts));
        let (common, condition) = (Arc::clone(&self.common), Arc::clone(&self.condition));
        self.common.handle.spawn(async move {
            match whereabouts.connect_again(&address).await {
                // Unless it has been replaced meanwhile.
                Ok(connection) if condition.is_up_at(&address.to_string()) => {
                    strict.open(connection);
                }
                Ok(_) => {}
                Err(failure) => common.count(&failure),
            }
        });
    }

    /// Takes down where the server is; tells if it is another one.
    fn find(&self, address: &Address, memory: &mut Memory) {
        self.condition.look_at(address.to_string());
        if let Some(last) = memory.last_address.replace(address.clone())
            && last != *address
        {
            self.common.counters.failovers.one();
            let (from, to) = (last.to_string(), address.to_string());
            self.common.tell(&Event::FailedOver { from, to });
        }
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

    /// Watches a connection until it is of no use any more; why it is not. `None` if the store leaves.
    async fn watch(
        &mut self,
        mut connection: MultiplexedConnection,
        memory: &mut Memory,
    ) -> Option<Failure> {
        loop {
            let next = if self.courier.why_down().is_some() {
                self.next_moment(SOON, SOON / 2)
            } else {
                Instant::now() + BEAT
            };
            tokio::select! {
                () = self.courier.trouble.notified() => {}
                () = sleep_until(next) => {}
                () = self.leave.notified() => {
                    if let Err(failure) = self.heartbeat.deregister(&mut connection).await {
                        self.common.count(&failure);
                    }
                    return None;
                }
                Some(message) = memory.deregistered.recv() => {
                    if self.heartbeat.is_about_nodes(&message) {
                        memory.beats.iter_mut().for_each(|nodes| *nodes = nodes.saturating_sub(1));
                        self.count_nodes(memory);
                    }
                    continue;
                }
                () = self.whereabouts.moved(memory.told.as_ref()) => {
                    // Whatever the old one would still say, the others ask the new one.
                    let why = "another server is the primary now";
                    return Some(Failure::new(Class::Connection, why));
                }
            }
            let given_up = self.courier.why_down();
            if let Some(failure) = &given_up {
                self.hearing.stop();
                self.degraded(failure);
                if failure.class.hangs_up() {
                    return Some(failure.clone());
                }
            }
            let asked = self.common.now();
            match self.heartbeat.beat(&mut connection).await {
                Ok(beat) => {
                    let took = self.common.now().saturating_duration_since(asked);
                    self.note(beat, memory);
                    if self.courier.is_in_time(took) {
                        // It answers in turn, so whatever was sent before has been done.
                        self.common.owed.clear_doubts(self.link, true);
                    }
                    if given_up.is_some() {
                        self.common.seen.begin(&self.hearing, self.common.clock.machine());
                        self.reach(&connection, None, took);
                    }
                    self.reach_strictly(memory);
                }
                Err(failure) => {
                    self.common.count(&failure);
                    self.hearing.stop();
                    self.courier.give_up(&failure);
                    self.degraded(&failure);
                    if failure.class == Class::Timeout || failure.class.hangs_up() {
                        return Some(failure);
                    }
                    // It is there and says what is wrong with it: another connection would not help.
                    sleep_until(self.next_moment(PAUSE, PAUSE)).await;
                }
            }
        }
    }

    /// When to try again: at a moment of all nodes, so long from now at least.
    fn next_moment(&self, pause: Duration, least: Duration) -> Instant {
        let (nodes, now) = (self.condition.nodes(), self.common.clock.now());
        Instant::now() + moments::wait(pause, least, nodes, now)
    }

    /// Takes down what a beat said.
    fn note(&self, beat: Option<Beat>, memory: &mut Memory) {
        let Some(beat) = beat else { return };
        let restarted = std::mem::take(&mut memory.restarted);
        self.courier.hear(beat.now, self.common.clock.machine());
        if let Some(place) = memory.beats.get_mut(memory.next % BEATS) {
            *place = beat.nodes;
        }
        memory.next = memory.next.wrapping_add(1);
        self.count_nodes(memory);
        let recent = memory.last_beat.is_some_and(|last| last.elapsed() < REMEMBERED);
        if !beat.known && (recent || restarted) {
            self.common.counters.state_lost.one();
            // What was seen before is not how it stands.
            self.common.seen.begin(&self.hearing, self.common.clock.machine());
            self.common.tell(&Event::StateLost);
        }
        self.common.owed.forget_recovered(self.common.clock.now());
        self.common.warn_if_passed_over();
        memory.last_beat = Some(Instant::now());
    }

    /// The most nodes of the last beats count: a node that was held up is still there.
    fn count_nodes(&self, memory: &Memory) {
        self.condition.set_nodes(memory.beats.iter().copied().max().unwrap_or(1).max(1));
    }

    fn reached(&self, connection: &MultiplexedConnection, server: Option<ServerInfo>) {
        if let Some(server) = &server {
            self.courier.set_scatters(server.writes_across_slots());
        }
        self.courier.open(connection.clone());
        if let Some(server) = self.condition.set_up(server) {
            let address = self.condition.address();
            self.common.tell(&Event::Reached { address, server });
        }
    }

    /// Tells that the server is not there, if that is news.
    fn degraded(&self, failure: &Failure) {
        if !self.condition.set_down(failure) {
            return;
        }
        self.common.doubted.notify_one();
        let (address, why) = (self.condition.address(), failure.why.clone());
        self.common.tell(&match failure.class {
            Class::Refused => Event::Refused { why },
            _ => Event::Degraded { address, why },
        });
    }
}

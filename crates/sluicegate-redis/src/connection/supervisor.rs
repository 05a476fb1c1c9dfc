//! Supervises the connection to a server: connects, detects failures and reconnects.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use sluicegate::Clock;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use crate::address::Address;
use crate::batcher::Batcher;
use crate::connection::connector::Listener;
use crate::connection::discovery::{ConnectedServer, Discovery};
use crate::connection::heartbeat::{Heartbeat, HeartbeatReply};
use crate::connectivity::Connectivity;
use crate::deny_cache::InvalidationEpoch;
use crate::error::{ErrorKind, ServerError};
use crate::event::{Event, ServerInfo};
use crate::store_context::StoreContext;

/// Interval between heartbeats.
const BEAT: Duration = Duration::from_millis(500);
/// Interval between heartbeats to a server that answers too late, and may recover any moment.
const FAST_BEAT: Duration = Duration::from_millis(50);
/// Least interval between attempts to connect.
const PAUSE: Duration = Duration::from_millis(500);
/// Interval between attempts after the server's address has changed.
const MOVED_PAUSE: Duration = Duration::from_millis(100);
/// Heartbeats of which the one with the most nodes counts: a delayed node is still alive.
const RECENT_BEATS: usize = 10;
/// The most deregistration messages to keep until they are read.
const DEREGISTRATIONS: usize = 64;
/// The server forgets a node without heartbeats after this time. If a node returns sooner and is
/// unknown, the server has lost more than that.
const REMEMBERED: Duration = Duration::from_millis(1_500);

/// Supervises the connection to a server.
pub(crate) struct Supervisor {
    pub(crate) context: Arc<StoreContext>,
    pub(crate) discovery: Arc<Discovery>,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) batcher: Arc<Batcher>,
    pub(crate) strict: Option<Arc<Batcher>>,
    pub(crate) connectivity: Arc<Connectivity>,
    pub(crate) epoch: Arc<InvalidationEpoch>,
    /// Requests that this node deregisters and the supervisor ends.
    pub(crate) leave: Arc<Notify>,
}

/// Receives the invalidations of other nodes, deregistrations, and the end of the connection.
struct PushListener {
    context: Arc<StoreContext>,
    /// Not the batcher itself, because the batcher owns the connection, which owns this.
    wake_supervisor: Arc<Notify>,
    /// Messages that nodes have deregistered.
    deregistered: mpsc::Sender<Vec<u8>>,
}

impl Listener for PushListener {
    fn on_message(&self, message: Option<&[u8]>) {
        match message {
            None => self.wake_supervisor.notify_one(),
            Some(message) if Heartbeat::is_deregistration(message) => {
                // If the channel is full, the next heartbeat counts the remaining nodes soon
                // anyway.
                let _ = self.deregistered.try_send(message.to_vec());
            }
            Some(message) => {
                if let Some(counter) = self.context.key_space.counter_freed(message) {
                    self.context.deny_cache.forget(counter, self.context.clock.machine());
                    self.context.counters.invalidations.one();
                }
            }
        }
    }
}

/// The state that the supervisor keeps between two connections.
struct SupervisorState {
    beats: [u32; RECENT_BEATS],
    next: usize,
    last_beat: Option<Instant>,
    last_run: Option<String>,
    /// Whether the server was restarted, and no heartbeat has shown yet what it lost.
    restarted: bool,
    last_address: Option<Address>,
    /// The address of the server, or the one that was last tried without success.
    target: Option<Address>,
    attempt: Instant,
    /// When the connection of the strict batcher may be tried again.
    next_strict: Instant,
    deregistered: mpsc::Receiver<Vec<u8>>,
}

impl Supervisor {
    /// Runs until the store is dropped.
    pub(crate) async fn run(mut self) {
        let mut state = SupervisorState {
            beats: [0; RECENT_BEATS],
            next: 0,
            last_beat: None,
            last_run: None,
            restarted: false,
            last_address: None,
            target: None,
            attempt: Instant::now(),
            next_strict: Instant::now(),
            deregistered: mpsc::channel(1).1,
        };
        let mut began = Instant::now();
        loop {
            tokio::select! {
                () = sleep_until(state.attempt) => {}
                () = self.leave.notified() => return,
                // There is a new address. Not retried in a tight loop, in case the sentinels
                // disagree.
                () = self.discovery.moved(state.target.as_ref()) => {
                    sleep_until(began + MOVED_PAUSE).await;
                }
            }
            began = Instant::now();
            state.attempt = self.next_retry(PAUSE, PAUSE);
            state.target = self.discovery.address();
            self.context.counters.connections.one();
            let failure = match self.connect(&mut state).await {
                Ok(connection) => match self.watch(connection, &mut state).await {
                    Some(failure) => failure,
                    None => return,
                },
                Err(failure) => {
                    self.context.count(&failure);
                    failure
                }
            };
            self.epoch.stop();
            self.batcher.fail_all(&failure);
            if let Some(strict) = &self.strict {
                strict.fail_all(&failure);
            }
            self.mark_down(&failure);
        }
    }

    async fn connect(
        &mut self,
        state: &mut SupervisorState,
    ) -> Result<MultiplexedConnection, ServerError> {
        let wake_supervisor = Arc::clone(&self.batcher.wake_supervisor);
        let (deregistered, receiver) = mpsc::channel(DEREGISTRATIONS);
        state.deregistered = receiver;
        let listener =
            PushListener { context: Arc::clone(&self.context), wake_supervisor, deregistered };
        let ConnectedServer { mut connection, server, address } =
            self.discovery.connect(Arc::new(listener)).await?;
        self.context.deny_cache.subscribe(&self.epoch, self.context.clock.machine());
        let sent_at = self.context.now();
        let beat = self.heartbeat.send(&mut connection).await?;
        let took = self.context.now().saturating_duration_since(sent_at);
        // A restart of the same server. A server that took its place has replicated its data.
        let same = state.last_address.as_ref() == Some(&address);
        let again = state.last_run.replace(server.run.clone()).is_some_and(|run| run != server.run);
        state.restarted |= same && again;
        self.record_heartbeat(beat, state);
        self.record_address(&address, state);
        state.target = Some(address);
        self.use_if_in_time(&connection, Some(server), took);
        self.connect_strict(state);
        Ok(connection)
    }

    /// Opens the connection of the strict batcher in the background, if it has none.
    fn connect_strict(&self, state: &mut SupervisorState) {
        let Some(strict) = &self.strict else { return };
        let Some(address) = state.last_address.clone() else { return };
        if strict.why_down().is_none() || state.next_strict > Instant::now() {
            return;
        }
        state.next_strict = Instant::now() + PAUSE;
        let (strict, discovery) = (Arc::clone(strict), Arc::clone(&self.discovery));
        let (context, connectivity) = (Arc::clone(&self.context), Arc::clone(&self.connectivity));
        self.context.runtime.spawn(async move {
            match discovery.connect_again(&address).await {
                // Unless the server has been replaced meanwhile.
                Ok(connection) if connectivity.is_up_at(&address.to_string()) => {
                    strict.open(connection);
                }
                Ok(_) => {}
                Err(failure) => context.count(&failure),
            }
        });
    }

    /// Records the address of the server. Emits an event if it has changed.
    fn record_address(&self, address: &Address, state: &mut SupervisorState) {
        self.connectivity.set_address(address.to_string());
        if let Some(last) = state.last_address.replace(address.clone())
            && last != *address
        {
            self.context.counters.failovers.one();
            let (from, to) = (last.to_string(), address.to_string());
            self.context.emit(&Event::FailedOver { from, to });
        }
    }

    /// Starts using the server, if it answers within the deadline.
    fn use_if_in_time(
        &self,
        connection: &MultiplexedConnection,
        server: Option<ServerInfo>,
        took: Duration,
    ) {
        if self.batcher.is_in_time(took) {
            self.mark_up(connection, server);
            return;
        }
        // All requests would time out.
        let why = format!("a heartbeat took {} ms, longer than the deadline", took.as_millis());
        let failure = ServerError::new(ErrorKind::Timeout, why);
        self.batcher.fail_all(&failure);
        self.mark_down(&failure);
    }

    /// Watches a connection until it fails. Returns the failure, or `None` if the store shuts down.
    async fn watch(
        &mut self,
        mut connection: MultiplexedConnection,
        state: &mut SupervisorState,
    ) -> Option<ServerError> {
        loop {
            let next = if self.batcher.why_down().is_some() {
                self.next_retry(FAST_BEAT, FAST_BEAT / 2)
            } else {
                Instant::now() + BEAT
            };
            tokio::select! {
                () = self.batcher.wake_supervisor.notified() => {}
                () = sleep_until(next) => {}
                () = self.leave.notified() => {
                    if let Err(failure) = self.heartbeat.deregister(&mut connection).await {
                        self.context.count(&failure);
                    }
                    return None;
                }
                Some(message) = state.deregistered.recv() => {
                    if self.heartbeat.is_about_nodes(&message) {
                        state.beats.iter_mut().for_each(|nodes| *nodes = nodes.saturating_sub(1));
                        self.count_nodes(state);
                    }
                    continue;
                }
                () = self.discovery.moved(state.target.as_ref()) => {
                    // The old primary may still answer, but all other nodes use the new one.
                    let why = "another server is the primary now";
                    return Some(ServerError::new(ErrorKind::Connection, why));
                }
            }
            let given_up = self.batcher.why_down();
            if let Some(failure) = &given_up {
                self.epoch.stop();
                self.mark_down(failure);
                if failure.class.closes_connection() {
                    return Some(failure.clone());
                }
            }
            let sent_at = self.context.now();
            match self.heartbeat.send(&mut connection).await {
                Ok(beat) => {
                    let took = self.context.now().saturating_duration_since(sent_at);
                    self.record_heartbeat(beat, state);
                    if given_up.is_some() {
                        self.context
                            .deny_cache
                            .subscribe(&self.epoch, self.context.clock.machine());
                        self.use_if_in_time(&connection, None, took);
                    }
                    self.connect_strict(state);
                }
                Err(failure) => {
                    self.context.count(&failure);
                    self.epoch.stop();
                    self.batcher.fail_all(&failure);
                    self.mark_down(&failure);
                    if failure.class == ErrorKind::Timeout || failure.class.closes_connection() {
                        return Some(failure);
                    }
                    // The server reports an error, which another connection would not fix.
                    sleep_until(self.next_retry(PAUSE, PAUSE)).await;
                }
            }
        }
    }

    /// Returns the next shared retry time, at least `least` from now.
    fn next_retry(&self, pause: Duration, least: Duration) -> Instant {
        let (nodes, now) = (self.connectivity.nodes(), self.context.clock.now());
        Instant::now() + crate::connection::retry_schedule::wait(pause, least, nodes, now)
    }

    /// Records the reply to a heartbeat.
    fn record_heartbeat(&self, beat: Option<HeartbeatReply>, state: &mut SupervisorState) {
        let Some(beat) = beat else { return };
        let restarted = std::mem::take(&mut state.restarted);
        self.batcher.observe_time(beat.now, self.context.clock.machine());
        state.beats[state.next % RECENT_BEATS] = beat.nodes;
        state.next = state.next.wrapping_add(1);
        self.count_nodes(state);
        let recent = state.last_beat.is_some_and(|last| last.elapsed() < REMEMBERED);
        if !beat.known && (recent || restarted) {
            self.context.counters.state_lost.one();
            // The cached states are from before the loss.
            self.context.deny_cache.subscribe(&self.epoch, self.context.clock.machine());
            self.context.emit(&Event::StateLost);
        }
        self.context.pending.forget_recovered(self.context.clock.now());
        self.context.warn_if_passed_over();
        state.last_beat = Some(Instant::now());
    }

    /// Uses the most nodes of the last heartbeats, because a delayed node is still alive.
    fn count_nodes(&self, state: &SupervisorState) {
        self.connectivity.set_nodes(state.beats.iter().copied().max().unwrap_or(1).max(1));
    }

    fn mark_up(&self, connection: &MultiplexedConnection, server: Option<ServerInfo>) {
        if let Some(server) = &server {
            self.batcher.set_cross_slot(server.writes_across_slots());
        }
        self.batcher.open(connection.clone());
        if let Some(server) = self.connectivity.set_up(server) {
            let address = self.connectivity.address();
            self.context.emit(&Event::Reached { address, server });
        }
    }

    /// Marks the server as down and emits an event if this is a change.
    fn mark_down(&self, failure: &ServerError) {
        if !self.connectivity.set_down(failure) {
            return;
        }
        self.context.map_stale.notify_one();
        let (address, why) = (self.connectivity.address(), failure.why.clone());
        self.context.emit(&match failure.class {
            ErrorKind::Refused => Event::Refused { why },
            _ => Event::Degraded { address, why },
        });
    }
}

//! The accept loop of a proxy, and its open connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::counts::{Counters, count};
use super::faults::{ConnectionId, FaultMode, Faults};
use super::relay::Relay;
use crate::fraction::share_of;
use crate::ports::stop_listening;

/// A command of the proxy's owner. Each is answered once it is executed, with the number of
/// connections concerned, or with the connections.
pub(super) enum ProxyCommand {
    Switch { mode: Option<FaultMode>, delay: Option<Duration>, done: Sender<usize> },
    Kill { fraction: f64, done: Sender<usize> },
    Heal { done: Sender<usize> },
    List { done: Sender<Vec<ConnectionId>> },
}

/// A connection, and the task that relays its bytes.
struct OpenConnection {
    id: ConnectionId,
    task: JoinHandle<()>,
}

/// The listener, and its connections.
pub(super) struct Acceptor {
    address: SocketAddr,
    upstream: SocketAddr,
    listener: Option<TcpListener>,
    switches: watch::Sender<Faults>,
    connections: Vec<OpenConnection>,
    accepted: u64,
    counters: Arc<Counters>,
}

impl Acceptor {
    pub(super) async fn open(
        address: SocketAddr,
        upstream: SocketAddr,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            address,
            upstream,
            listener: Some(listen(address).await),
            switches: watch::Sender::new(Faults::default()),
            connections: Vec::new(),
            accepted: 0,
            counters,
        }
    }

    /// Accepts connections and executes commands, until the proxy is dropped.
    pub(super) async fn follow(mut self, mut orders: UnboundedReceiver<ProxyCommand>) {
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.execute(order).await,
                    None => break,
                },
                client = accept(self.listener.as_ref()) => self.admit(client),
            }
        }
        self.close();
    }

    /// Closes the listener.
    fn close(&mut self) {
        if let Some(listener) = self.listener.take() {
            stop_listening(listener);
        }
    }

    fn admit(&mut self, client: TcpStream) {
        count(&self.counters.connections, 1);
        let id = ConnectionId(self.accepted);
        let relay =
            Relay { id, switches: self.switches.subscribe(), counters: Arc::clone(&self.counters) };
        self.accepted += 1;
        self.forget_closed();
        self.connections
            .push(OpenConnection { id, task: tokio::spawn(relay.run(client, self.upstream)) });
    }

    async fn execute(&mut self, order: ProxyCommand) {
        let (concerned, done) = match order {
            ProxyCommand::Switch { mode, delay, done } => (self.switch(mode, delay).await, done),
            ProxyCommand::Kill { fraction, done } => (self.kill(fraction).await, done),
            ProxyCommand::Heal { done } => (self.heal().await, done),
            ProxyCommand::List { done } => {
                self.forget_closed();
                let _ = done.send(self.connections.iter().map(|open| open.id).collect());
                return;
            }
        };
        // A sender that no longer waits has panicked, and reported the cause.
        let _ = done.send(concerned);
    }

    async fn switch(&mut self, mode: Option<FaultMode>, delay: Option<Duration>) -> usize {
        self.switches.send_modify(|switches| {
            if let Some(mode) = mode {
                switches.mode = mode;
            }
            switches.delay = delay.unwrap_or(switches.delay);
        });
        let refuses = self.switches.borrow().mode == FaultMode::Refuse;
        if refuses {
            self.close();
            return self.kill(1.0).await;
        }
        if self.listener.is_none() {
            self.listener = Some(listen(self.address).await);
        }
        0
    }

    async fn heal(&mut self) -> usize {
        let mode = self.switches.borrow().mode.clone();
        let silenced = self.connections.iter_mut().filter(|open| mode.silences(open.id)).collect();
        let count = end(silenced).await;
        self.forget_closed();
        self.switch(Some(FaultMode::Forward), Some(Duration::ZERO)).await;
        count
    }

    async fn kill(&mut self, fraction: f64) -> usize {
        self.forget_closed();
        let count = end(share_of(self.connections.iter_mut().collect(), fraction)).await;
        self.forget_closed();
        count
    }

    fn forget_closed(&mut self) {
        self.connections.retain(|open| !open.task.is_finished());
    }
}

/// Closes connections; returns the number.
async fn end(connections: Vec<&mut OpenConnection>) -> usize {
    let count = connections.len();
    for OpenConnection { task, .. } in connections {
        task.abort();
        // The task closes its sockets at its end.
        let _ = task.await;
    }
    count
}

async fn listen(address: SocketAddr) -> TcpListener {
    TcpListener::bind(address)
        .await
        .unwrap_or_else(|error| panic!("could not listen on {address}: {error}"))
}

/// The next client; pending forever without a listener.
async fn accept(listener: Option<&TcpListener>) -> TcpStream {
    if let Some(listener) = listener {
        // A client that gave up before it was accepted does not count.
        loop {
            if let Ok((client, _)) = listener.accept().await {
                return client;
            }
        }
    }
    std::future::pending().await
}

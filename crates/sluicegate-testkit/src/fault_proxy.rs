//! A proxy between a client and a server that injects the faults of networks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::ports::free_port;

mod acceptor;
mod counts;
mod faults;
mod relay;
mod sampler;

use acceptor::{Acceptor, ProxyCommand};
use counts::Counters;
pub use counts::Counts;
pub use faults::ConnectionId;
use faults::FaultMode;
use sampler::Sampler;

/// A TCP proxy whose faults can be switched while it runs.
///
/// It forwards by default. A switch is effective when its method returns, also for open
/// connections. It runs on a thread of its own, independent of the test's runtime.
pub struct FaultProxy {
    address: SocketAddr,
    orders: Option<UnboundedSender<ProxyCommand>>,
    counters: Arc<Counters>,
    thread: Option<JoinHandle<()>>,
}

impl FaultProxy {
    /// A proxy on a free port of 127.0.0.1, to a server at `address`.
    ///
    /// If the server is down, connections are accepted and closed at once, not refused.
    pub fn to(address: SocketAddr) -> Self {
        let upstream = address;
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let counters = Arc::new(Counters::default());
        let (orders, received) = unbounded_channel();
        let (ready, listening) = channel();
        let counting = Arc::clone(&counters);
        let thread = std::thread::Builder::new()
            .name("fault-proxy".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime for the proxy can be made");
                runtime.block_on(async move {
                    let acceptor = Acceptor::open(address, upstream, counting).await;
                    let _ = ready.send(());
                    acceptor.follow(received).await;
                });
            })
            .expect("a thread for the proxy can be made");
        listening.recv().expect("the proxy listens");
        Self { address, orders: Some(orders), counters, thread: Some(thread) }
    }

    /// Its address for clients.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its port for clients.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Its `redis://…` URL for clients.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// Ends all faults and delays. Data that was held back is delivered.
    pub fn forward(&self) {
        self.switch(Some(FaultMode::Forward), Some(Duration::ZERO));
    }

    /// Accepts connections and holds them: forwards nothing in either direction, and closes
    /// nothing.
    pub fn silent(&self) {
        self.switch(Some(FaultMode::Silent), None);
    }

    /// [Silent](Self::silent) for all connections but these, which are open and continue: the
    /// server is isolated with their clients, and all others can neither reach it nor receive from
    /// it.
    pub fn isolate(&self, kept: &[ConnectionId]) {
        self.switch(Some(FaultMode::Isolate(kept.into())), None);
    }

    /// Ends all faults and delays, as [`forward`](Self::forward); but connections that were silent
    /// are closed, and data that was held back on them is lost. Returns their number.
    pub fn heal(&self) -> usize {
        self.order(|done| ProxyCommand::Heal { done })
    }

    /// The connections that are open now. A client that has had an answer has its own among them.
    pub fn connections(&self) -> Vec<ConnectionId> {
        self.order(|done| ProxyCommand::List { done })
    }

    /// Closes all connections, and refuses new ones.
    pub fn refuse(&self) {
        self.switch(Some(FaultMode::Refuse), None);
    }

    /// Delivers requests, but loses the connection under this fraction of the replies: from such a
    /// reply on the client receives nothing, and after a moment its connection is closed.
    ///
    /// The selection only depends on the seed, the number of the connection, and the number of the
    /// reply on it.
    pub fn drop_replies(&self, fraction: f64, seed: u64) {
        self.switch(Some(FaultMode::DropReplies(Sampler::new(fraction, seed))), None);
    }

    /// Delivers requests, but cuts this fraction of the replies out of the stream, so that the next
    /// reply takes the place of the one before. No network does this; it detects clients that would
    /// take another call's answer for their own. Selected as by
    /// [`drop_replies`](Self::drop_replies).
    pub fn swallow_replies(&self, fraction: f64, seed: u64) {
        self.switch(Some(FaultMode::SwallowReplies(Sampler::new(fraction, seed))), None);
    }

    /// Delays all data by this time, in each direction, in addition to any fault.
    pub fn delay(&self, delay: Duration) {
        self.switch(None, Some(delay));
    }

    /// Closes a fraction of the connections; returns the number.
    pub fn kill_connections(&self, fraction: f64) -> usize {
        self.order(|done| ProxyCommand::Kill { fraction, done })
    }

    /// The traffic so far.
    pub fn counts(&self) -> Counts {
        self.counters.read()
    }

    fn switch(&self, mode: Option<FaultMode>, delay: Option<Duration>) {
        self.order(|done| ProxyCommand::Switch { mode, delay, done });
    }

    /// Sends a command to the proxy's thread and waits until it is executed.
    fn order<T>(&self, order: impl FnOnce(Sender<T>) -> ProxyCommand) -> T {
        let (done, carried_out) = channel();
        let orders = self.orders.as_ref().expect("taken only when the proxy ends");
        assert!(orders.send(order(done)).is_ok(), "the proxy has panicked; its message is above");
        carried_out.recv().expect("the proxy carries out every order")
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        // Without a sender the thread ends, and its connections with it.
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

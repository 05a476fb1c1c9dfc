//! What stands between a client and a server and does to them what networks do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::ports::free_port;

mod chance;
mod counts;
mod gate;
mod relay;
mod switches;

use chance::Chance;
use counts::Counters;
pub use counts::Counts;
use gate::{Gate, Order};
pub use switches::ConnectionId;
use switches::Mode;

/// A TCP proxy whose faults can be switched while it runs.
///
/// It forwards until told otherwise. A switch has taken effect when its method returns, for
/// connections that are open too. It runs on a thread of its own, whatever the test's runtime does.
pub struct FaultProxy {
    address: SocketAddr,
    orders: Option<UnboundedSender<Order>>,
    counters: Arc<Counters>,
    thread: Option<JoinHandle<()>>,
}

impl FaultProxy {
    /// A proxy on a free port of 127.0.0.1, to a server at `address`.
    ///
    /// A server that is not there shows as a connection that is closed at once, not as one refused.
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
                    let gate = Gate::open(address, upstream, counting).await;
                    let _ = ready.send(());
                    gate.follow(received).await;
                });
            })
            .expect("a thread for the proxy can be made");
        listening.recv().expect("the proxy listens");
        Self { address, orders: Some(orders), counters, thread: Some(thread) }
    }

    /// Where clients reach it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port that clients reach it on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// `redis://…`, as a client says it.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// No faults any more, and no delay. What was held back is delivered.
    pub fn forward(&self) {
        self.switch(Some(Mode::Forward), Some(Duration::ZERO));
    }

    /// Accepts connections and holds them; forwards nothing either way, and closes nothing.
    pub fn silent(&self) {
        self.switch(Some(Mode::Silent), None);
    }

    /// [Silent](Self::silent) for all connections but these, which are open and go on: the server is
    /// left alone with whoever has them. It can neither be reached by others nor heard.
    pub fn isolate(&self, kept: &[ConnectionId]) {
        self.switch(Some(Mode::Isolate(kept.into())), None);
    }

    /// No faults any more, and no delay, as after [`forward`](Self::forward); but connections that
    /// were silent are closed, and what was held back on them is lost. Returns how many these were.
    pub fn heal(&self) -> usize {
        self.order(|done| Order::Heal { done })
    }

    /// The connections that are open now. A client that has had an answer has its own among them.
    pub fn connections(&self) -> Vec<ConnectionId> {
        self.order(|done| Order::List { done })
    }

    /// Closes all connections, and refuses new ones.
    pub fn refuse(&self) {
        self.switch(Some(Mode::Refuse), None);
    }

    /// Delivers requests, but loses the connection under this fraction of the replies: from such a
    /// reply on the client hears nothing, and after a moment its connection is closed.
    ///
    /// Which replies these are depends on nothing but the seed, the number of the connection, and
    /// the number of the reply on it.
    pub fn drop_replies(&self, fraction: f64, seed: u64) {
        self.switch(Some(Mode::DropReplies(Chance::new(fraction, seed))), None);
    }

    /// Delivers requests, but cuts this fraction of the replies out of the stream, so that the next
    /// reply comes in the place of the one before. No network does this; it shows who would take
    /// another's answer for its own. Chosen as by [`drop_replies`](Self::drop_replies).
    pub fn swallow_replies(&self, fraction: f64, seed: u64) {
        self.switch(Some(Mode::SwallowReplies(Chance::new(fraction, seed))), None);
    }

    /// Delivers everything this much later, in each direction, whatever else is switched.
    pub fn delay(&self, delay: Duration) {
        self.switch(None, Some(delay));
    }

    /// Closes a part of the connections; returns how many.
    pub fn kill_connections(&self, fraction: f64) -> usize {
        self.order(|done| Order::Kill { fraction, done })
    }

    /// What has passed so far.
    pub fn counts(&self) -> Counts {
        self.counters.read()
    }

    fn switch(&self, mode: Option<Mode>, delay: Option<Duration>) {
        self.order(|done| Order::Switch { mode, delay, done });
    }

    /// Gives an order and waits until it is carried out.
    fn order<T>(&self, order: impl FnOnce(Sender<T>) -> Order) -> T {
        let (done, carried_out) = channel();
        let orders = self.orders.as_ref().expect("taken only when the proxy ends");
        assert!(orders.send(order(done)).is_ok(), "the proxy has panicked; its message is above");
        carried_out.recv().expect("the proxy carries out every order")
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        // No more orders: the thread ends, and its connections with it.
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

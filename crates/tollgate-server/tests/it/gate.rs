//! A server on a port of its own, with the hands of its clock.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tollgate::{Limiter, ManualClock, Memory};
use tollgate_server::{Drained, Measured, Server};

use super::client::Client;

/// A running server.
pub(crate) struct Gate {
    pub(crate) address: SocketAddr,
    pub(crate) clock: ManualClock,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Drained>,
}

impl Gate {
    pub(crate) async fn open() -> Self {
        let clock = ManualClock::default();
        Self::open_with(Server::new(Limiter::new(Memory::with_clock(clock.clone()))), clock).await
    }

    pub(crate) async fn open_with<S: Measured>(server: Server<S>, clock: ManualClock) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(listener, async {
            let _ = stopped.await;
        }));
        Self { address, clock, stop, serving }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    /// Tells the server to stop, and leaves it to that.
    pub(crate) fn stop(self) -> JoinHandle<Drained> {
        self.stop.send(()).unwrap();
        self.serving
    }
}

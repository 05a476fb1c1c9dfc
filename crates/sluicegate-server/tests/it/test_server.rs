//! A test server on its own port, with a manual clock.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use sluicegate::{Limiter, ManualClock, Memory, Store};
use sluicegate_rules::{RuleLimiter, RuleSet};
use sluicegate_server::{Drained, Listeners, Protocol, Server, StoreStats};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::raw_client::Client;
use super::resp_client::RespClient;

/// A running server.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    /// The address for RESP.
    pub(crate) resp: SocketAddr,
    pub(crate) clock: ManualClock,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Drained>,
}

/// A rule limiter in memory.
pub(crate) type Rules = Arc<RuleLimiter<Memory<ManualClock>>>;

/// Creates a limiter on this store, with these rules.
pub(crate) fn by_rules<S: Store>(store: S, rules: &str) -> Arc<RuleLimiter<S>> {
    Arc::new(RuleLimiter::new(Limiter::new(store), parsed(rules)).unwrap())
}

/// Creates a limiter on this store, without rules.
pub(crate) fn without_rules<S: Store>(store: S) -> Arc<RuleLimiter<S>> {
    by_rules(store, "rules: []")
}

pub(crate) fn parsed(rules: &str) -> RuleSet {
    RuleSet::parse(rules).unwrap_or_else(|report| panic!("{report}"))
}

impl TestServer {
    pub(crate) async fn open() -> Self {
        let clock = ManualClock::default();
        let limiter = without_rules(Memory::with_clock(clock.clone()));
        Self::open_with(Server::new(limiter), clock).await
    }

    /// Starts a server with these rules; returns its limiter, too.
    pub(crate) async fn by(rules: &str) -> (Self, Rules) {
        let clock = ManualClock::default();
        let limiter = by_rules(Memory::with_clock(clock.clone()), rules);
        (Self::open_with(Server::new(Arc::clone(&limiter)), clock).await, limiter)
    }

    #[allow(clippy::unused_async, reason = "spawning needs a runtime")]
    pub(crate) async fn open_with<S: StoreStats>(server: Server<S>, clock: ManualClock) -> Self {
        let [http, resp] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [address, resp_address] = [&http, &resp].map(|bound| bound.local_addr().unwrap());
        let listeners = Listeners::from(http).and(Protocol::Resp, resp);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            server.serve(listeners, stopped).await.unwrap()
        });
        Self { address, resp: resp_address, clock, stop, serving }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    /// Connects a RESP client.
    pub(crate) async fn resp(&self) -> RespClient {
        RespClient::connect(self.resp).await
    }

    /// Begins the shutdown without waiting for it.
    pub(crate) fn stop(self) -> JoinHandle<Drained> {
        self.stop.send(()).unwrap();
        self.serving
    }
}

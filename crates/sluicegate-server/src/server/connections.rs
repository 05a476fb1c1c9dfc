//! The open connections of one thread, each a task of its own.

use std::future::pending;
use std::io::Write;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use sluicegate_rules::TrustedNetworks;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tracing::{debug, error};

use super::begun::Begun;
use super::proxied;
use super::stopping::Stopping;
use super::{Drained, Server};
use crate::context::Context;
use crate::grpc::Grpc;
use crate::http::Http;
use crate::measured::Measured;
use crate::protocol::Protocol;
use crate::resp::Resp;

/// What is said to one connection too many, where anything can be.
const FULL_HTTP: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/problem+json\r\ncache-control: no-store\r\n\
    retry-after: 1\r\nconnection: close\r\ncontent-length: 123\r\n\r\n\
    {\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\
    \"detail\":\"too many connections are open; try again later\"}";
const FULL_RESP: &[u8] = b"-ERR max number of clients reached\r\n";

/// The open connections of one thread.
pub(super) struct Connections<S> {
    context: Arc<Context<S>>,
    http: Arc<Http<S>>,
    grpc: Arc<Grpc<S>>,
    resp: Arc<Resp<S>>,
    tasks: JoinSet<()>,
    /// How many more there may be, on all threads.
    room: Arc<Semaphore>,
    stopping: Stopping,
    /// Where connections have to come from, with a header that says for whom.
    proxies: Option<Arc<TrustedNetworks>>,
}

impl<S: Measured> Connections<S> {
    pub(super) fn new(server: &Server<S>, stopping: Stopping) -> Self {
        let context = &server.context;
        Self {
            context: Arc::clone(context),
            http: Arc::new(Http::new(Arc::clone(context))),
            grpc: Arc::new(Grpc::new(Arc::clone(context), server.grpc_reflection)),
            resp: Arc::new(Resp::new(Arc::clone(context), server.resp_password.clone())),
            tasks: JoinSet::new(),
            room: Arc::clone(&server.room),
            stopping,
            proxies: server.proxies.clone(),
        }
    }

    /// Serves a connection in a task of its own: whatever goes wrong in it ends it alone.
    pub(super) fn open(&mut self, protocol: Protocol, stream: TcpStream, peer: SocketAddr) {
        let Ok(place) = Arc::clone(&self.room).try_acquire_owned() else {
            debug!(%peer, "too many connections are open");
            return turn_away(protocol, stream);
        };
        // Answers are small and awaited: holding one back to fill a packet only delays it.
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "cannot turn off delayed sending");
        }
        let connected = self.context.metrics.connected(protocol);
        let speaking = self.speaking(protocol);
        // Whoever asks by another protocol says for whom, or it does not matter.
        let proxies = self.proxies.clone().filter(|_| protocol == Protocol::Http);
        self.tasks.spawn(async move {
            let begun = match proxies {
                None => Ok(Begun::new(stream, peer)),
                Some(proxies) => proxied::begin(stream, peer, &proxies).await,
            };
            match begun {
                Ok(begun) => speaking.with(begun).await,
                Err(error) => debug!(%peer, %error, "connection closed"),
            }
            drop((connected, place));
        });
    }

    fn speaking(&self, protocol: Protocol) -> Speaking<S> {
        let stopping = self.stopping.clone();
        match protocol {
            Protocol::Http => Speaking::Http(Arc::clone(&self.http), stopping),
            Protocol::Grpc => Speaking::Grpc(Arc::clone(&self.grpc), stopping),
            Protocol::Resp => Speaking::Resp(Arc::clone(&self.resp), stopping),
        }
    }

    /// Waits until a connection has ended, and forgets it.
    pub(super) async fn reap(&mut self) {
        match self.tasks.join_next().await {
            Some(ended) => report(ended),
            None => pending().await,
        }
    }

    /// Waits for connections, which know that it is time, for `patience` at most.
    pub(super) async fn drain(mut self, patience: Duration) -> Drained {
        let all_ended = async {
            while let Some(ended) = self.tasks.join_next().await {
                report(ended);
            }
        };
        if timeout(patience, all_ended).await.is_ok() {
            return Drained::All;
        }
        let connections = self.tasks.len();
        self.tasks.shutdown().await;
        if connections == 0 { Drained::All } else { Drained::Cut { connections } }
    }
}

/// A protocol, and when to come to an end with it.
enum Speaking<S> {
    Http(Arc<Http<S>>, Stopping),
    Grpc(Arc<Grpc<S>>, Stopping),
    Resp(Arc<Resp<S>>, Stopping),
}

impl<S: Measured> Speaking<S> {
    async fn with(self, begun: Begun) {
        let peer = begun.peer();
        debug!(%peer, "connection opened");
        let ended = match self {
            Self::Http(http, stopping) => http.serve(begun, stopping).await,
            Self::Grpc(grpc, stopping) => grpc.serve(begun, stopping).await,
            Self::Resp(resp, stopping) => resp.serve(begun, stopping).await,
        };
        if let Err(error) = ended {
            debug!(%peer, %error, "connection ended early");
        }
    }
}

/// Says why a connection is closed, if its protocol has words for it and nobody has to wait.
fn turn_away(protocol: Protocol, stream: TcpStream) {
    let words = match protocol {
        Protocol::Http => FULL_HTTP,
        Protocol::Resp => FULL_RESP,
        Protocol::Grpc => return,
    };
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write(words).and_then(|_| stream.shutdown(Shutdown::Write));
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        error!(%error, "a connection's task panicked");
    }
}

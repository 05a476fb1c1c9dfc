//! The open connections of one thread, one task for each.

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

use super::accepted::AcceptedStream;
use super::proxy_header;
use super::shutdown::ShutdownSignal;
use super::{Drained, Server};
use crate::context::Context;
use crate::grpc::Grpc;
use crate::http::Http;
use crate::protocol::Protocol;
use crate::resp::Resp;
use crate::store_stats::StoreStats;

/// The response to a connection above the limit.
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
    /// A permit for each further connection on all threads.
    room: Arc<Semaphore>,
    signal: ShutdownSignal,
    /// The proxies that HTTP connections must come from, with a PROXY header.
    proxies: Option<Arc<TrustedNetworks>>,
}

impl<S: StoreStats> Connections<S> {
    pub(super) fn new(server: &Server<S>, signal: ShutdownSignal) -> Self {
        let context = &server.context;
        Self {
            context: Arc::clone(context),
            http: Arc::new(Http::new(Arc::clone(context))),
            grpc: Arc::new(Grpc::new(Arc::clone(context), server.grpc_reflection)),
            resp: Arc::new(Resp::new(Arc::clone(context), server.resp_password.clone())),
            tasks: JoinSet::new(),
            room: Arc::clone(&server.room),
            signal,
            proxies: server.proxies.clone(),
        }
    }

    /// Serves a connection in its own task, so that a failure ends only this connection.
    pub(super) fn open(&mut self, protocol: Protocol, stream: TcpStream, peer: SocketAddr) {
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            debug!(%peer, "too many connections are open");
            return reject(protocol, stream);
        };
        // Disables Nagle's algorithm: responses are small, and clients wait for them.
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "cannot set TCP_NODELAY");
        }
        let connected = self.context.metrics.connected(protocol);
        let handler = self.handler(protocol);
        // Only HTTP uses the PROXY header; gRPC and RESP clients name the caller themselves.
        let proxies = self.proxies.clone().filter(|_| protocol == Protocol::Http);
        self.tasks.spawn(async move {
            let accepted = match proxies {
                None => Ok(AcceptedStream::new(stream, peer)),
                Some(proxies) => proxy_header::accept(stream, peer, &proxies).await,
            };
            match accepted {
                Ok(stream) => handler.serve(stream).await,
                Err(error) => debug!(%peer, %error, "connection closed"),
            }
            drop((connected, permit));
        });
    }

    fn handler(&self, protocol: Protocol) -> Handler<S> {
        let signal = self.signal.clone();
        match protocol {
            Protocol::Http => Handler::Http(Arc::clone(&self.http), signal),
            Protocol::Grpc => Handler::Grpc(Arc::clone(&self.grpc), signal),
            Protocol::Resp => Handler::Resp(Arc::clone(&self.resp), signal),
        }
    }

    /// Waits until a connection has ended, and removes its task.
    pub(super) async fn reap(&mut self) {
        match self.tasks.join_next().await {
            Some(ended) => report(ended),
            None => pending().await,
        }
    }

    /// Waits at most `limit` for the connections, which have received the shutdown signal.
    pub(super) async fn drain(mut self, limit: Duration) -> Drained {
        let all_ended = async {
            while let Some(ended) = self.tasks.join_next().await {
                report(ended);
            }
        };
        if timeout(limit, all_ended).await.is_ok() {
            return Drained::All;
        }
        let connections = self.tasks.len();
        self.tasks.shutdown().await;
        if connections == 0 { Drained::All } else { Drained::Cut { connections } }
    }
}

/// The handler of one protocol, and the shutdown signal.
enum Handler<S> {
    Http(Arc<Http<S>>, ShutdownSignal),
    Grpc(Arc<Grpc<S>>, ShutdownSignal),
    Resp(Arc<Resp<S>>, ShutdownSignal),
}

impl<S: StoreStats> Handler<S> {
    async fn serve(self, stream: AcceptedStream) {
        let peer = stream.peer();
        debug!(%peer, "connection opened");
        let ended = match self {
            Self::Http(http, signal) => http.serve(stream, signal).await,
            Self::Grpc(grpc, signal) => grpc.serve(stream, signal).await,
            Self::Resp(resp, signal) => resp.serve(stream, signal).await,
        };
        if let Err(error) = ended {
            debug!(%peer, %error, "connection ended early");
        }
    }
}

/// Closes a connection above the limit, with an error if the protocol and the socket allow it.
fn reject(protocol: Protocol, stream: TcpStream) {
    let error = match protocol {
        Protocol::Http => FULL_HTTP,
        Protocol::Resp => FULL_RESP,
        Protocol::Grpc => return,
    };
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write(error).and_then(|_| stream.shutdown(Shutdown::Write));
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        error!(%error, "a connection's task panicked");
    }
}

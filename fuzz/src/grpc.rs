//! A connection that speaks gRPC to the real server in this process.

use std::net::TcpListener;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::header::HeaderMap;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluicegate::{Limiter, ManualClock, Memory};
use sluicegate_rules::{RuleLimiter, RuleSet};
use sluicegate_server::{Listeners, Protocol};
use tokio::net::TcpStream;
use tokio::runtime::{self, Runtime};
use tokio::time::timeout;

/// A server that hangs is a finding.
const PATIENCE: Duration = Duration::from_secs(20);
const PATH: &str = "http://t/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
/// The prefix of an uncompressed message, before its length.
const PREFIX: usize = 5;

/// Rules that use all features of descriptors.
const RULES: &str = "
identify:
  user: { attribute: user }
  tenant: { attribute: tenant, if_missing: 401 }
rules:
  - { name: all, key: [ip], limit: 20/s }
  - { name: users, match: { descriptor: { user: '*' } }, key: user, limit: 5/min, debt: true }
  - { name: windows, match: { attribute: { kind: [a, b] } }, key: user, limit: [3/min, 9/day], algorithm: fixed_window }
  - { name: tenants, match: { attribute: { kind: tenant } }, key: tenant, limit: 5 per 15 minutes }
  - { name: slots, match: { attribute: { kind: slot } }, key: user, limit: { concurrent: 2 } }
  - { name: shadow, match: { domain: edge }, key: [], limit: 1/day, mode: shadow }
block:
  - { user: mallory }
";

/// A running server with a persistent connection.
#[derive(Debug)]
pub struct GrpcServer {
    runtime: Runtime,
    clock: ManualClock,
    sender: SendRequest<Full<Bytes>>,
}

impl GrpcServer {
    /// Starts a server in a thread of its own, for the lifetime of the process.
    ///
    /// # Panics
    ///
    /// If the machine has no port or no thread for it.
    pub fn start() -> Self {
        let clock = ManualClock::default();
        let limiter = Limiter::new(Memory::with_clock(clock.clone()));
        let rules = RuleSet::parse(RULES).expect("rules that can be read");
        let limiter = Arc::new(RuleLimiter::new(limiter, rules).unwrap());
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
                sender.send(listener.local_addr().expect("an address")).expect("a listener to it");
                let listeners = Listeners::default().and(Protocol::Grpc, listener);
                sluicegate_server::Server::new(limiter)
                    .serve(listeners, std::future::pending())
                    .await
            })
        });
        let address = receiver.recv().expect("the server's address");
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let sender = runtime.block_on(async {
            let stream = TcpStream::connect(address).await.expect("a connection");
            stream.set_nodelay(true).expect("small packets sent at once");
            let builder = Builder::new(TokioExecutor::new());
            let (sender, connection) =
                builder.handshake(TokioIo::new(stream)).await.expect("HTTP/2");
            tokio::spawn(connection);
            sender
        });
        Self { runtime, clock, sender }
    }

    /// Advances the server's clock, so that it may evict the counters of earlier inputs.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Sends a message; returns the status of the call and the response.
    ///
    /// # Panics
    ///
    /// If the server does not answer, or not with gRPC.
    pub fn limit(&mut self, message: &[u8]) -> (u16, Vec<u8>) {
        let length = u32::try_from(message.len()).expect("a message of a sensible length");
        let framed = [&[0], &length.to_be_bytes()[..], message].concat();
        let request = hyper::Request::post(PATH)
            .header("content-type", "application/grpc")
            .body(Full::from(framed))
            .expect("a request");
        let answer = self.sender.send_request(request);
        let (head, body) = self.runtime.block_on(async {
            let answer = timeout(PATIENCE, answer).await.expect("an answer in time");
            let (head, body) = answer.expect("an answer").into_parts();
            (head, body.collect().await.expect("a whole answer"))
        });
        let status = |headers: &HeaderMap| {
            let text = headers.get("grpc-status")?.to_str().ok()?;
            text.parse().ok()
        };
        let status = body.trailers().and_then(status).or_else(|| status(&head.headers));
        let body = body.to_bytes();
        (status.expect("a status"), body.get(PREFIX..).unwrap_or_default().to_vec())
    }
}

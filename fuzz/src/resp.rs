//! A server in this process, called by the Redis protocol.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use sluicegate::{Limiter, ManualClock, Memory};
use sluicegate_rules::{RuleLimiter, RuleSet};
use sluicegate_server::{Listeners, Protocol};
use tokio::runtime::Builder;

/// A server that hangs is a finding.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server.
#[derive(Debug)]
pub struct RespServer {
    address: SocketAddr,
    clock: ManualClock,
}

impl RespServer {
    /// Starts a server in a thread of its own, for the lifetime of the process.
    ///
    /// # Panics
    ///
    /// If the machine has no port or no thread for it.
    pub fn start() -> Self {
        let clock = ManualClock::default();
        let limiter = Limiter::new(Memory::with_clock(clock.clone()));
        let rules = "rules: [{ name: per-user, key: user, limit: 9/min }]";
        let rules = RuleSet::parse(rules).expect("rules that are right");
        let limiter = Arc::new(RuleLimiter::new(limiter, rules).unwrap());
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
                sender.send(listener.local_addr().expect("an address")).expect("a listener to it");
                let listeners = Listeners::default().and(Protocol::Resp, listener);
                sluicegate_server::Server::new(limiter)
                    .serve(listeners, std::future::pending())
                    .await
            })
        });
        Self { address: receiver.recv().expect("the server's address"), clock }
    }

    /// Advances the server's clock, so that it may evict the counters of earlier inputs.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Sends these pieces on a new connection; returns all replies.
    ///
    /// # Panics
    ///
    /// If the server does not close the connection in time.
    pub fn ask(&self, pieces: &[&[u8]]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_nodelay(true).expect("small packets sent at once");
        stream.set_read_timeout(Some(PATIENCE)).expect("a deadline for reading");
        for piece in pieces {
            // The server may have closed the connection already, with good reason.
            if stream.write_all(piece).is_err() {
                break;
            }
        }
        let _ = stream.shutdown(Shutdown::Write);
        let mut answers = Vec::new();
        stream.read_to_end(&mut answers).expect("the server answers and closes");
        answers
    }
}

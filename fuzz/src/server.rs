//! A server in this process, with one HTTP connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use sluicegate::{Limiter, ManualClock, Memory};
use sluicegate_rules::{RuleLimiter, RuleSet};
use tokio::runtime::Builder;

/// A server that hangs is a finding.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server with a persistent connection.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    clock: ManualClock,
    stream: BufReader<TcpStream>,
}

/// A response.
#[derive(Debug)]
pub struct Reply {
    /// The status of the response.
    pub status: u16,
    /// Its whole body.
    pub body: Vec<u8>,
    closes: bool,
}

impl Server {
    /// Starts a server in a thread of its own, for the lifetime of the process.
    ///
    /// # Panics
    ///
    /// If the machine has no port or no thread for it.
    pub fn start() -> Self {
        let clock = ManualClock::default();
        let limiter = Limiter::new(Memory::with_clock(clock.clone()));
        let rules = RuleSet::parse("rules: []").expect("rules that say nothing");
        let limiter = Arc::new(RuleLimiter::new(limiter, rules).unwrap());
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
                sender.send(listener.local_addr().expect("an address")).expect("a listener to it");
                sluicegate_server::Server::new(limiter)
                    .serve(listener, std::future::pending())
                    .await
            })
        });
        let address = receiver.recv().expect("the server's address");
        Self { address, clock, stream: connect(address) }
    }

    /// Advances the server's clock, so that it may evict the counters of earlier inputs.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Sends a body to `/v1/throttle`.
    ///
    /// # Panics
    ///
    /// If the server does not answer, or not with HTTP.
    pub fn throttle(&mut self, body: &[u8]) -> Reply {
        let length = body.len();
        let head = format!(
            "POST /v1/throttle HTTP/1.1\r\nHost: sluicegate\r\nContent-Length: {length}\r\n\r\n"
        );
        let request = [head.as_bytes(), body].concat();
        self.stream.get_mut().write_all(&request).expect("the server reads");
        let reply = self.reply();
        if reply.closes {
            self.stream = connect(self.address);
        }
        reply
    }

    fn reply(&mut self) -> Reply {
        let status_line = self.line();
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut reply =
            Reply { status: status.expect("a status"), body: Vec::new(), closes: false };
        loop {
            let line = self.line();
            match line.split_once(": ") {
                Some(("content-length", length)) => {
                    reply.body = vec![0; length.parse().expect("a length")];
                }
                Some(("connection", "close")) => reply.closes = true,
                Some(_) => {}
                None => break,
            }
        }
        self.stream.read_exact(&mut reply.body).expect("the whole body");
        reply
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server answers");
        assert!(!line.is_empty(), "the server closed the connection");
        line.trim_end().to_owned()
    }
}

fn connect(address: SocketAddr) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).expect("small packets sent at once");
    stream.set_read_timeout(Some(PATIENCE)).expect("a deadline for reading");
    BufReader::new(stream)
}

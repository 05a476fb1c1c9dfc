//! A proxy with Sluicegate beside and a service behind it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use tokio::net::TcpSocket;
use tokio::runtime;

use super::eventually::eventually;
use super::program::{Folder, Serving};

/// A proxy, with Sluicegate beside and a service behind it.
pub(super) struct Edge {
    proxy: Child,
    port: u16,
    pub(super) sluicegate: Option<Serving>,
    service: Service,
    _folder: Folder,
}

/// A service behind a proxy, and the request targets that reached it.
pub(super) struct Service {
    pub(super) port: u16,
    targets: Arc<Mutex<Vec<String>>>,
}

impl Edge {
    /// Starts a proxy on this port, with its files in this folder.
    pub(super) fn start(
        command: &mut Command,
        port: u16,
        sluicegate: Serving,
        service: Service,
        folder: Folder,
    ) -> Self {
        let log = folder.at("log");
        let printed = File::create(&log).unwrap();
        let proxy = command.stdout(Stdio::null()).stderr(printed).spawn().unwrap();
        let edge = Self { proxy, port, sluicegate: Some(sluicegate), service, _folder: folder };
        let log = || fs::read_to_string(&log).unwrap_or_default();
        eventually(
            || {
                ProxyResponse::of(port, "/", "probe")
                    .map_or_else(log, |found| found.status.to_string())
            },
            |found| found == "200",
        );
        edge
    }

    /// The answer for a user; `user` may end with more header lines.
    pub(super) fn get(&self, path: &str, user: &str) -> ProxyResponse {
        ProxyResponse::of(self.port, path, user).unwrap()
    }

    /// Sends a request from another address of this machine.
    pub(super) fn get_from(&self, address: Ipv4Addr, path: &str) -> ProxyResponse {
        let head = format!("GET {path} HTTP/1.1\r\nhost: edge\r\nconnection: close\r\n\r\n");
        ProxyResponse::to(connect_from(address, self.port), head.as_bytes())
    }

    /// Sends raw bytes. Returns the answer and the targets that the service received.
    pub(super) fn send(&self, bytes: &[u8]) -> (ProxyResponse, Vec<String>) {
        self.service.targets.lock().unwrap().clear();
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let answer = ProxyResponse::to(stream, bytes);
        (answer, self.service.targets.lock().unwrap().clone())
    }

    pub(super) fn statuses(&self, path: &str, user: &str, count: usize) -> Vec<u16> {
        (0..count).map(|_| self.get(path, user).status).collect()
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

/// A service whose answers report the cost in the path: `/tokens/7` used 7 tokens.
pub(super) fn service() -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let targets = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&targets);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let seen = Arc::clone(&seen);
            thread::spawn(move || {
                let mut lines = BufReader::new(&stream).lines();
                let first = lines.next().and_then(Result::ok).unwrap_or_default();
                let fails = lines
                    .map_while(Result::ok)
                    .take_while(|line| !line.is_empty())
                    .any(|line| line.eq_ignore_ascii_case("x-fail: yes"));
                let path = first.split(' ').nth(1).unwrap_or_default();
                seen.lock().unwrap().push(path.to_owned());
                let tokens =
                    path.strip_prefix("/tokens/").map(|tokens| format!("x-tokens: {tokens}\r\n"));
                let back = if fails { "x-give-back: 1\r\n" } else { "" };
                let _ = write!(
                    &stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\
                     connection: close\r\n{}{back}\r\nhi\n",
                    tokens.unwrap_or_default(),
                );
            });
        }
    });
    Service { port, targets }
}

/// A connection from another address of this machine.
fn connect_from(address: Ipv4Addr, port: u16) -> TcpStream {
    let runtime = runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((address, 0).into()).unwrap();
        socket.connect((Ipv4Addr::LOCALHOST, port).into()).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream
}

/// An answer of a proxy.
pub(super) struct ProxyResponse {
    pub(super) status: u16,
    pub(super) text: String,
}

impl ProxyResponse {
    /// The answer for a user at this port, or `None` without one.
    fn of(port: u16, path: &str, user: &str) -> Option<Self> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: edge\r\nconnection: close\r\nx-user: {user}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let status = text.split(' ').nth(1)?.parse().ok()?;
        Some(Self { status, text })
    }

    /// Sends raw bytes. Returns the answer; its status is 0 without one.
    fn to(mut stream: TcpStream, bytes: &[u8]) -> Self {
        // A proxy may answer and close before it has read everything.
        let _ = stream.write_all(bytes);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        Self { status: status.unwrap_or(0), text }
    }

    /// All values of a header.
    pub(super) fn header(&self, name: &str) -> Vec<&str> {
        let (head, _) = self.text.split_once("\r\n\r\n").unwrap();
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .collect()
    }

    pub(super) fn body(&self) -> &str {
        self.text.split_once("\r\n\r\n").unwrap().1
    }
}

/// Replaces texts in a configuration, each of which must occur exactly once.
pub(super) fn substituted(mut config: String, texts: &[(&str, String)]) -> String {
    for (default, own) in texts {
        assert_eq!(config.matches(default).count(), 1, "{default}");
        config = config.replace(default, own);
    }
    config
}

//! A scripted sentinel, which gives any answer a test needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The answer to the name and version of clients.
const HELLO: &str = "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n";

/// A scripted sentinel, which gives any answer a test needs.
pub(crate) struct FakeSentinel {
    port: u16,
    state: Arc<SentinelState>,
}

#[derive(Default)]
struct SentinelState {
    /// The answer to the query for the primary, as RESP.
    said: Mutex<Vec<u8>>,
    /// The answer to the query for its role.
    role: Mutex<Vec<u8>>,
    open: Mutex<Vec<TcpStream>>,
    connections: AtomicU64,
    questions: AtomicU64,
    ended: AtomicBool,
}

impl FakeSentinel {
    /// A sentinel without a primary.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(SentinelState::default());
        let fake = Self { port, state: Arc::clone(&state) };
        fake.says(b"_\r\n");
        fake.has_role(b"*2\r\n$8\r\nsentinel\r\n*1\r\n$8\r\nmymaster\r\n");
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if state.ended.load(Ordering::SeqCst) {
                    return;
                }
                state.connections.fetch_add(1, Ordering::SeqCst);
                state.open.lock().unwrap().push(stream.try_clone().unwrap());
                let state = Arc::clone(&state);
                std::thread::spawn(move || state.serve(&stream));
            }
        });
        fake
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Names this address from now on.
    pub(crate) fn names(&self, host: &str, port: &str) {
        self.says(&words(&[host, port]));
    }

    /// Sends this answer to queries for the primary from now on.
    pub(crate) fn says(&self, reply: &[u8]) {
        *self.state.said.lock().unwrap() = reply.to_vec();
    }

    /// Sends this answer to queries for its role from now on.
    pub(crate) fn has_role(&self, reply: &[u8]) {
        *self.state.role.lock().unwrap() = reply.to_vec();
    }

    /// Publishes to all subscribers that the primary is at another port of this machine now.
    pub(crate) fn announces(&self, port: u16) {
        let message = format!("mymaster 127.0.0.1 1 127.0.0.1 {port}");
        let mut push = b">3\r\n".to_vec();
        for word in ["message", "+switch-master", &message] {
            push.extend(text(word));
        }
        for mut stream in self.state.open.lock().unwrap().iter() {
            // A subscriber that has disconnected receives nothing.
            let _ = stream.write_all(&push);
        }
    }

    /// The number of connections so far.
    pub(crate) fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// How often the primary was queried.
    pub(crate) fn questions(&self) -> u64 {
        self.state.questions.load(Ordering::SeqCst)
    }
}

impl Drop for FakeSentinel {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts connections.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        for stream in self.state.open.lock().unwrap().iter() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl SentinelState {
    /// Answers one command after the other, until there are no more.
    fn serve(&self, mut stream: &TcpStream) {
        let mut requests = BufReader::new(stream);
        while let Some(command) = read_command(&mut requests) {
            let reply = match command.first().map(|word| word.to_ascii_uppercase()).as_deref() {
                Some("HELLO") => HELLO.as_bytes().to_vec(),
                Some("CLIENT" | "AUTH") => b"+OK\r\n".to_vec(),
                Some("SUBSCRIBE") => {
                    let channel = command.get(1).map_or("", String::as_str);
                    [b">3\r\n", &*text("subscribe"), &text(channel), b":1\r\n"].concat()
                }
                Some("SENTINEL") => {
                    self.questions.fetch_add(1, Ordering::SeqCst);
                    self.said.lock().unwrap().clone()
                }
                Some("ROLE") => self.role.lock().unwrap().clone(),
                _ => b"-ERR unknown command\r\n".to_vec(),
            };
            if stream.write_all(&reply).is_err() {
                return;
            }
        }
    }
}

/// `*2`, `$4`, `PING`, …
fn read_command(requests: &mut BufReader<&TcpStream>) -> Option<Vec<String>> {
    let mut number = |kind: char| -> Option<(usize, Option<Vec<u8>>)> {
        let mut line = String::new();
        requests.read_line(&mut line).ok()?;
        let number = line.strip_prefix(kind)?.trim_end().parse().ok()?;
        if kind == '*' {
            return Some((number, None));
        }
        let mut word = vec![0; number + 2];
        requests.read_exact(&mut word).ok()?;
        word.truncate(number);
        Some((number, Some(word)))
    };
    let (count, _) = number('*')?;
    let word = |_| number('$').and_then(|(_, word)| String::from_utf8(word?).ok());
    (0..count).map(word).collect()
}

/// Encodes a text as RESP.
fn text(text: &str) -> Vec<u8> {
    format!("${}\r\n{text}\r\n", text.len()).into_bytes()
}

/// Encodes several texts.
pub(crate) fn words(all: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", all.len()).into_bytes();
    bytes.extend(all.iter().flat_map(|word| text(word)));
    bytes
}

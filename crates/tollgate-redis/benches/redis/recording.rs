//! What the store says to a server, written down on the way: so that exactly that can be said again.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What was said over one connection.
type Stream = Arc<Mutex<Vec<u8>>>;

/// Stands between a store and its server.
pub(crate) struct Recorder {
    address: SocketAddr,
    /// What was said over each connection.
    heard: Arc<Mutex<Vec<Stream>>>,
}

impl Recorder {
    /// Listens on a port of its own, for as long as the process runs.
    pub(crate) fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let recorder = Self { address: listener.local_addr().unwrap(), heard: Arc::default() };
        let heard = Arc::clone(&recorder.heard);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
                let said = Stream::default();
                heard.lock().unwrap().push(Arc::clone(&said));
                let ends = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || pass_on(client, server, Some(&said)));
                thread::spawn(move || pass_on(ends.1, ends.0, None));
            }
        });
        recorder
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// The commands that name a script and contain this word, without those of other kinds.
    pub(crate) fn calls_with(&self, word: &str) -> Vec<Vec<u8>> {
        let heard = self.heard.lock().unwrap();
        let said = heard.iter().flat_map(|said| commands(&said.lock().unwrap()));
        said.filter(|said| said.starts_with_words(b"EVALSHA") && said.contains(word))
            .map(|said| said.0)
            .collect()
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, record: Option<&Mutex<Vec<u8>>>) {
    to.set_nodelay(true).unwrap();
    let mut bytes = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        if let Some(record) = record {
            record.lock().unwrap().extend_from_slice(&bytes[..length]);
        }
        if to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

struct Said(Vec<u8>);

impl Said {
    fn starts_with_words(&self, name: &[u8]) -> bool {
        self.0.split(|byte| *byte == b'\n').nth(2).is_some_and(|word| word.starts_with(name))
    }

    fn contains(&self, word: &str) -> bool {
        self.0.windows(word.len()).any(|part| part == word.as_bytes())
    }
}

/// The commands in a stream of them.
fn commands(mut bytes: &[u8]) -> Vec<Said> {
    let mut commands = Vec::new();
    while let Some(length) = command_length(bytes) {
        let (command, rest) = bytes.split_at(length);
        commands.push(Said(command.to_vec()));
        bytes = rest;
    }
    commands
}

fn command_length(bytes: &[u8]) -> Option<usize> {
    let (words, mut at) = number(bytes, 0)?;
    for _ in 0..words {
        let (length, start) = number(bytes, at)?;
        at = start + length + 2;
    }
    (at <= bytes.len()).then_some(at)
}

/// The number on the line that begins here, and where the next line does.
fn number(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let line = bytes.get(at..)?;
    let end = line.iter().position(|byte| *byte == b'\r')?;
    Some((std::str::from_utf8(&line[1..end]).ok()?.parse().ok()?, at + end + 2))
}

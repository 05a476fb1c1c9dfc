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

    /// The calls of scripts about pages that were said since this was asked before.
    pub(crate) fn take_calls(&self) -> Vec<Vec<u8>> {
        let mut calls = Vec::new();
        for said in &*self.heard.lock().unwrap() {
            calls.extend(take_commands(&mut said.lock().unwrap()).filter(|said| is_call(said)));
        }
        calls
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

fn is_call(command: &[u8]) -> bool {
    let mut words = command.split(|byte| *byte == b'\n').skip(2).step_by(2);
    words.next().is_some_and(|name| name.starts_with(b"EVALSHA"))
        && words.nth(2).is_some_and(|key| key.contains(&b'{'))
}

/// Takes the whole commands out of a stream of them.
fn take_commands(stream: &mut Vec<u8>) -> impl Iterator<Item = Vec<u8>> {
    let (mut commands, mut at) = (Vec::new(), 0);
    while let Some(length) = command_length(&stream[at..]) {
        commands.push(stream[at..at + length].to_vec());
        at += length;
    }
    stream.drain(..at);
    commands.into_iter()
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

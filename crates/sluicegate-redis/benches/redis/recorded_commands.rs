//! Records the commands of the store to a server, so that they can be replayed.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The bytes sent over one connection.
type Stream = Arc<Mutex<Vec<u8>>>;

/// A recorder between a store and its server.
pub(crate) struct Recorder {
    address: SocketAddr,
    /// The bytes sent over each connection.
    streams: Arc<Mutex<Vec<Stream>>>,
}

impl Recorder {
    /// Listens on a port of its own, for as long as the process runs.
    pub(crate) fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let recorder = Self { address: listener.local_addr().unwrap(), streams: Arc::default() };
        let streams = Arc::clone(&recorder.streams);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
                let said = Stream::default();
                streams.lock().unwrap().push(Arc::clone(&said));
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

    /// The script calls about pages since the last time.
    pub(crate) fn take_calls(&self) -> Vec<Vec<u8>> {
        let mut calls = Vec::new();
        for said in &*self.streams.lock().unwrap() {
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

/// Takes the complete commands out of a stream.
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

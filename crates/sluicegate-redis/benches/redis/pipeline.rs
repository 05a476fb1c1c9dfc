//! Commands that are pipelined to a server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use sluicegate_testkit::{Rng, Server};

/// Commands in flight on one connection.
pub(crate) const DEPTH: usize = 64;
/// The number of connections that keeps a server busy while answers are read.
const CONNECTIONS: usize = 8;

/// An encoded command.
pub(crate) fn command(words: &[String]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
    }
    bytes
}

/// Connections that stay open.
pub(crate) struct Pipeline<'a> {
    server: &'a Server,
    lines: Vec<TcpStream>,
    draws: Rng,
}

impl<'a> Pipeline<'a> {
    pub(crate) fn to(server: &'a Server) -> Self {
        let line = |_| {
            let line = TcpStream::connect(server.address()).unwrap();
            line.set_nodelay(true).unwrap();
            line
        };
        Self { server, lines: (0..CONNECTIONS).map(line).collect(), draws: Rng::new(7) }
    }

    /// Sends every command once.
    pub(crate) fn send_each(&mut self, commands: &[Vec<u8>]) {
        for some in commands.chunks(DEPTH) {
            self.lines[0].write_all(&some.concat()).unwrap();
            read_answers(&mut self.lines[0], some.len());
        }
    }

    /// Sends about this number of random commands; returns the server's processor time, and their
    /// number.
    pub(crate) fn send(&mut self, commands: &[Vec<u8>], count: usize) -> (Duration, usize) {
        let before = self.server.cpu_time();
        let mut bytes = Vec::new();
        let bursts = count / (DEPTH * CONNECTIONS);
        for _ in 0..bursts {
            for line in &mut self.lines {
                bytes.clear();
                for _ in 0..DEPTH {
                    bytes.extend_from_slice(&commands[self.draws.index(commands.len())]);
                }
                line.write_all(&bytes).unwrap();
            }
            for line in &mut self.lines {
                read_answers(line, DEPTH);
            }
        }
        let time = self.server.cpu_time().checked_sub(before).unwrap();
        (time, bursts * DEPTH * CONNECTIONS)
    }
}

/// Reads this number of answers, each a list.
fn read_answers(line: &mut TcpStream, count: usize) {
    let (mut bytes, mut filled, mut at) = (vec![0; 1 << 16], 0, 0);
    let (mut left, mut lists) = (0, 0);
    while lists < count || left > 0 {
        let Some((kind, number, next)) = read_line(&bytes[at..filled]) else {
            bytes.copy_within(at..filled, 0);
            (filled, at) = (filled - at, 0);
            let read = line.read(&mut bytes[filled..]).unwrap();
            assert!(read > 0, "the server has hung up");
            filled += read;
            continue;
        };
        at += next;
        match kind {
            b'*' => (left, lists) = (number, lists + 1),
            b'$' | b':' => left -= 1,
            _ => panic!("no answer: {}", String::from_utf8_lossy(&bytes[..filled])),
        }
    }
    assert_eq!(at, filled, "more answers than questions");
}

/// The type of a value, its number, and where the next one begins; `None` if it is incomplete.
fn read_line(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let end = bytes.iter().position(|byte| *byte == b'\n')? + 1;
    let number = bytes[1..end - 2].iter().take_while(|byte| byte.is_ascii_digit());
    let number = number.fold(0, |number, byte| number * 10 + usize::from(byte - b'0'));
    let length = if bytes[0] == b'$' { number + 2 } else { 0 };
    (bytes.len() >= end + length).then_some((bytes[0], number, end + length))
}

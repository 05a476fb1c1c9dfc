//! Commands that are pipelined to a server.

use std::time::Duration;

use sluicegate_testkit::{Connection, RespValue, Rng, Server};

/// Commands in flight on one connection.
pub(crate) const DEPTH: usize = 64;
/// The number of connections that keeps a server busy while answers are read.
const CONNECTIONS: usize = 8;

/// Connections that stay open.
pub(crate) struct Pipeline<'a> {
    server: &'a Server,
    lines: Vec<Connection>,
    draws: Rng,
}

impl<'a> Pipeline<'a> {
    pub(crate) fn to(server: &'a Server) -> Self {
        Self {
            server,
            lines: (0..CONNECTIONS).map(|_| server.connection()).collect(),
            draws: Rng::new(7),
        }
    }

    /// Sends every command once.
    pub(crate) fn send_each(&mut self, commands: &[Vec<u8>]) {
        for some in commands.chunks(DEPTH) {
            self.lines[0].send_encoded(&some.concat()).unwrap();
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
                line.send_encoded(&bytes).unwrap();
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
fn read_answers(line: &mut Connection, count: usize) {
    for _ in 0..count {
        let answer = line.receive().unwrap();
        assert!(matches!(answer, RespValue::Array(_)), "no answer: {answer:?}");
    }
}

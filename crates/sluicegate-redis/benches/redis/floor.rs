//! The floor: the shortest possible script, driven by `redis-benchmark` and by our client.

use std::process::Command;
use std::time::Duration;

use sluicegate_testkit::{Server, encode_command};

use crate::callers::{CALLERS, key};
use crate::pipeline::DEPTH;
use crate::setup::{RECOVERY_MICROS, UNIT_MICROS};

/// A minimal bucket: no sets, no receipts, no tolerance for clocks, one key per caller.
const SCRIPT: &str = include_str!("floor.lua");

/// A server that has the script.
pub(crate) struct Floor<'a> {
    server: &'a Server,
    sha: String,
}

impl<'a> Floor<'a> {
    pub(crate) fn on(server: &'a Server) -> Self {
        Self { server, sha: server.command(&["SCRIPT", "LOAD", SCRIPT]).text() }
    }

    /// The call for each caller.
    pub(crate) fn calls(&self) -> Vec<Vec<u8>> {
        (0..CALLERS).map(|caller| encode_command(&self.words(&key(caller)))).collect()
    }

    /// Runs decisions by `redis-benchmark`; returns the server's processor time.
    pub(crate) fn benchmark(&self, decisions: usize) -> Duration {
        let before = self.server.cpu_time();
        let output = Command::new("redis-benchmark")
            .args(["-p", &self.server.port().to_string(), "-c", "50", "-P", &DEPTH.to_string()])
            .args(["-r", &CALLERS.to_string(), "-n", &decisions.to_string(), "-q"])
            .args(self.words("user:__rand_int__"))
            .output()
            .unwrap_or_else(|error| panic!("could not start redis-benchmark: {error}"));
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !printed.contains("ERR"), "{printed}");
        self.server.cpu_time().checked_sub(before).unwrap()
    }

    fn words(&self, key: &str) -> [String; 7] {
        let numbers = [UNIT_MICROS, RECOVERY_MICROS, 1].map(|number| number.to_string());
        let [unit, recovery, cost] = numbers;
        ["EVALSHA".into(), self.sha.clone(), "1".into(), key.into(), unit, recovery, cost]
    }
}

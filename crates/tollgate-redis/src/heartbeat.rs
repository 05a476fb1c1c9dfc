//! Says that this node is alive, and learns the time and how many others are.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::time::timeout;
use tollgate_core::Time;

use crate::failure::{Class, Failure};

const SCRIPT: &str = include_str!("../lua/heartbeat.lua");
/// How long a node is believed alive after a beat.
const ALIVE: Duration = Duration::from_secs(2);
/// How long a beat may take before the server is believed to be gone.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);

/// Says that this node is alive.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    key: String,
    node: String,
}

/// What the server says to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Beat {
    /// The server's time.
    pub(crate) now: Time,
    /// Nodes that are alive.
    pub(crate) nodes: u32,
    /// Whether the server remembered the beat before.
    pub(crate) known: bool,
}

impl Heartbeat {
    pub(crate) fn new(prefix: &str) -> Self {
        let node = format!("{:016x}", RandomState::new().hash_one("node"));
        Self { key: format!("{prefix}1:nodes"), node }
    }

    pub(crate) async fn beat(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<Beat, Failure> {
        let mut command = redis::cmd("EVAL");
        command.arg(SCRIPT).arg(1).arg(&self.key).arg(&self.node).arg(ALIVE.as_millis());
        let beat = timeout(PATIENCE, command.query_async::<(u64, u32, u8)>(connection)).await;
        let (now, nodes, known) = beat.map_err(|_| {
            let millis = PATIENCE.as_millis();
            Failure::new(Class::Timeout, format!("no sign of life within {millis} ms"))
        })??;
        Ok(Beat { now: Time::from_micros(now), nodes: nodes.max(1), known: known == 1 })
    }
}

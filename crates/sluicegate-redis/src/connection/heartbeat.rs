//! Registers this node as alive, and receives the server's time and the number of nodes.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use sluicegate::test_time;
use sluicegate_core::Time;
use tokio::time::timeout;

use crate::cluster::SlotMap;
use crate::error::{ErrorKind, ServerError};
use crate::script::KeySpace;

const SCRIPT: &str = include_str!("../../lua/heartbeat.lua");
const DEREGISTER: &str = include_str!("../../lua/deregister.lua");
/// First byte of a message that a node has deregistered. No page begins with it.
const DEREGISTERED: u8 = b'-';
/// How long a node counts as alive after a heartbeat.
const TIME_TO_LIVE: Duration = Duration::from_secs(2);
/// How long a heartbeat may take before the server counts as down.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(500);

/// Registers this node as alive.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    key: Vec<u8>,
    node: String,
    slots: Option<Slots>,
    channel: String,
}

/// The slots of a cluster's server, one of which holds its list of nodes.
#[derive(Debug)]
struct Slots {
    slot_map: Arc<SlotMap>,
    key_space: KeySpace,
    server_id: u32,
    page: Option<u32>,
}

/// The server's reply to a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeartbeatReply {
    /// The server's time.
    pub(crate) now: Time,
    /// Nodes that are alive.
    pub(crate) nodes: u32,
    /// Whether the server still had the previous heartbeat.
    pub(crate) known: bool,
}

impl Heartbeat {
    /// A heartbeat to a server that has all keys.
    pub(crate) fn new(key_space: &KeySpace) -> Self {
        let node = format!("{:016x}", RandomState::new().hash_one("node"));
        Self { key: key_space.nodes(None), node, slots: None, channel: key_space.channel() }
    }

    /// A heartbeat to a server of a cluster that has the keys of some slots.
    pub(crate) fn in_slots_of(
        key_space: &KeySpace,
        slot_map: Arc<SlotMap>,
        server_id: u32,
    ) -> Self {
        let slots = Slots { slot_map, key_space: key_space.clone(), server_id, page: None };
        Self { slots: Some(slots), ..Self::new(key_space) }
    }

    /// Sends a heartbeat and returns the reply. Returns `None` if the server is alive and has no
    /// slot to hold the key.
    pub(crate) async fn send(
        &mut self,
        connection: &mut MultiplexedConnection,
    ) -> Result<Option<HeartbeatReply>, ServerError> {
        let moved = match &mut self.slots {
            None => false,
            Some(slots) => match slots.choose_page() {
                PageChoice::Same => false,
                PageChoice::Another(page) => {
                    self.key = slots.key_space.nodes(Some(page));
                    true
                }
                PageChoice::Nothing => {
                    in_time(redis::cmd("TIME").query_async::<(u64, u64)>(connection)).await?;
                    return Ok(None);
                }
            },
        };
        let mut command = redis::cmd("EVAL");
        command.arg(SCRIPT).arg(1).arg(&self.key).arg(&self.node).arg(TIME_TO_LIVE.as_millis());
        match in_time(command.query_async::<(u64, u32, u8)>(connection)).await {
            Ok((now, nodes, known)) => Ok(Some(HeartbeatReply {
                now: Time::from_micros(now),
                nodes: nodes.max(1),
                known: known == 1 || moved,
            })),
            Err(failure) if failure.class.is_about_slots() => {
                // The server is alive, but the slot has moved to another one.
                if let Some(slots) = &mut self.slots {
                    slots.page = None;
                }
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }
}

impl Heartbeat {
    /// Removes this node from the server's list of nodes and notifies the others.
    pub(crate) async fn deregister(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<(), ServerError> {
        let message = [&[DEREGISTERED], &self.key[..]].concat();
        let mut command = redis::cmd("EVAL");
        command.arg(DEREGISTER).arg(1).arg(&self.key).arg(&self.node);
        command.arg(&self.channel).arg(message);
        in_time(command.query_async::<u8>(connection)).await.map(drop)
    }

    /// Whether a message says that a node of this list has deregistered. Needed because every
    /// server of a cluster passes on the messages of all.
    pub(crate) fn is_about_nodes(&self, message: &[u8]) -> bool {
        matches!(message.split_first(), Some((&DEREGISTERED, key)) if key == self.key)
    }

    /// Whether a message says that a node of any list has deregistered.
    pub(crate) fn is_deregistration(message: &[u8]) -> bool {
        message.first() == Some(&DEREGISTERED)
    }
}

/// The page whose slot holds the list of nodes.
enum PageChoice {
    Same,
    Another(u32),
    Nothing,
}

impl Slots {
    fn choose_page(&mut self) -> PageChoice {
        let own =
            |page: u32| self.slot_map.owner(self.key_space.slot(page)) == Some(self.server_id);
        if self.page.is_some_and(own) {
            return PageChoice::Same;
        }
        self.page = (0..self.key_space.pages()).find(|page| own(*page));
        self.page.map_or(PageChoice::Nothing, PageChoice::Another)
    }
}

async fn in_time<T>(answer: impl Future<Output = redis::RedisResult<T>>) -> Result<T, ServerError> {
    // With a test clock, a machine that stalls is no outage.
    let patience = if test_time().is_some() { 120 * TIMEOUT } else { TIMEOUT };
    let answer = timeout(patience, answer).await.map_err(|_| {
        let millis = TIMEOUT.as_millis();
        ServerError::new(ErrorKind::Timeout, format!("no heartbeat reply within {millis} ms"))
    })?;
    Ok(answer?)
}

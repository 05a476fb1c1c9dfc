//! Says that this node is alive, and learns the time and how many others are.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use sluicegate::test_time;
use sluicegate_core::Time;
use tokio::time::timeout;

use crate::cluster::Chart;
use crate::failure::{Class, Failure};
use crate::twin::Naming;

const SCRIPT: &str = include_str!("../lua/heartbeat.lua");
const DEREGISTER: &str = include_str!("../lua/deregister.lua");
/// The first byte of a message that a node has deregistered. No page begins with it.
const DEREGISTERED: u8 = b'-';
/// How long a node is believed alive after a beat.
const ALIVE: Duration = Duration::from_secs(2);
/// How long a beat may take before the server is believed to be gone.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);

/// Says that this node is alive.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    key: Vec<u8>,
    node: String,
    slots: Option<Slots>,
    channel: String,
}

/// Of a cluster's server: which of its slots the nodes meet in.
#[derive(Debug)]
struct Slots {
    chart: Arc<Chart>,
    naming: Naming,
    link: u32,
    page: Option<u32>,
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
    /// On a server that has all keys.
    pub(crate) fn new(naming: &Naming) -> Self {
        let node = format!("{:016x}", RandomState::new().hash_one("node"));
        Self { key: naming.nodes(None), node, slots: None, channel: naming.channel() }
    }

    /// On a server that has the keys of the slots which this link serves.
    pub(crate) fn in_slots_of(naming: &Naming, chart: Arc<Chart>, link: u32) -> Self {
        let slots = Slots { chart, naming: naming.clone(), link, page: None };
        Self { slots: Some(slots), ..Self::new(naming) }
    }

    /// Tells the server, and hears what it says. Nothing, if it is alive and has no key to tell it
    /// under.
    pub(crate) async fn beat(
        &mut self,
        connection: &mut MultiplexedConnection,
    ) -> Result<Option<Beat>, Failure> {
        let moved = match &mut self.slots {
            None => false,
            Some(slots) => match slots.choose() {
                Choice::Same => false,
                Choice::Another(page) => {
                    self.key = slots.naming.nodes(Some(page));
                    true
                }
                Choice::Nothing => {
                    alive(redis::cmd("TIME").query_async::<(u64, u64)>(connection)).await?;
                    return Ok(None);
                }
            },
        };
        let mut command = redis::cmd("EVAL");
        command.arg(SCRIPT).arg(1).arg(&self.key).arg(&self.node).arg(ALIVE.as_millis());
        match alive(command.query_async::<(u64, u32, u8)>(connection)).await {
            Ok((now, nodes, known)) => Ok(Some(Beat {
                now: Time::from_micros(now),
                nodes: nodes.max(1),
                known: known == 1 || moved,
            })),
            Err(failure) if failure.class.is_about_slots() => {
                // It lives, and the slot does not live with it any more.
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
    /// Takes this node off the server's list of nodes, and tells the others.
    pub(crate) async fn deregister(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<(), Failure> {
        let message = [&[DEREGISTERED], &self.key[..]].concat();
        let mut command = redis::cmd("EVAL");
        command.arg(DEREGISTER).arg(1).arg(&self.key).arg(&self.node);
        command.arg(&self.channel).arg(message);
        alive(command.query_async::<u8>(connection)).await.map(drop)
    }

    /// Whether a message says that a node of this list has deregistered. In a cluster every server
    /// passes on the messages of all.
    pub(crate) fn is_about_nodes(&self, message: &[u8]) -> bool {
        matches!(message.split_first(), Some((&DEREGISTERED, key)) if key == self.key)
    }

    /// Whether a message says that a node of any list has deregistered.
    pub(crate) fn is_deregistration(message: &[u8]) -> bool {
        message.first() == Some(&DEREGISTERED)
    }
}

/// Which page to meet in.
enum Choice {
    Same,
    Another(u32),
    Nothing,
}

impl Slots {
    fn choose(&mut self) -> Choice {
        let own = |page: u32| self.chart.owner(self.naming.slot(page)) == Some(self.link);
        if self.page.is_some_and(own) {
            return Choice::Same;
        }
        self.page = (0..self.naming.pages()).find(|page| own(*page));
        self.page.map_or(Choice::Nothing, Choice::Another)
    }
}

async fn alive<T>(answer: impl Future<Output = redis::RedisResult<T>>) -> Result<T, Failure> {
    // Where a test drives the clock, a machine that stands still is no outage.
    let patience = if test_time().is_some() { 120 * PATIENCE } else { PATIENCE };
    let answer = timeout(patience, answer).await.map_err(|_| {
        let millis = PATIENCE.as_millis();
        Failure::new(Class::Timeout, format!("no sign of life within {millis} ms"))
    })?;
    Ok(answer?)
}

//! The views that the nodes of a cluster have of each other.

use std::ops::RangeInclusive;

use crate::cluster::Cluster;
use crate::resp::value::RespValue;

/// Number of slots of a cluster.
pub(super) const SLOTS: u16 = 16_384;

/// The view of one node about one node, another or itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeView {
    name: String,
    /// The id of its primary, if it is a replica.
    pub(super) primary: Option<String>,
    /// The epoch of its slots: the higher, the later.
    pub(super) epoch: u64,
    pub(super) slots: Vec<RangeInclusive<u16>>,
    /// Whether it is considered up.
    well: bool,
}

impl NodeView {
    /// Parses a line of `CLUSTER NODES`.
    fn read(line: &str) -> Option<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, _address, flags, primary, _pinged, _answered, epoch, _link, slots @ ..] =
            words.as_slice()
        else {
            return None;
        };
        let unwell = ["fail", "fail?", "handshake", "noaddr"];
        Some(Self {
            name: (*name).to_owned(),
            primary: (*primary != "-").then(|| (*primary).to_owned()),
            epoch: epoch.parse().ok()?,
            slots: slots.iter().filter_map(|word| range(word)).collect(),
            well: !flags.split(',').any(|flag| unwell.contains(&flag)),
        })
    }

    pub(super) fn answers_for(&self, slot: u16) -> bool {
        self.primary.is_none() && self.slots.iter().any(|range| range.contains(&slot))
    }

    /// Whether both describe the same node in the same way.
    fn agrees_with(&self, other: &Self) -> bool {
        (&self.name, &self.primary, &self.slots) == (&other.name, &other.primary, &other.slots)
    }
}

/// `5` or `5-7`; slots in migration are in brackets, and are skipped.
fn range(word: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

impl Cluster {
    pub(super) fn running(&self) -> impl Iterator<Item = usize> {
        (0..self.servers.len()).filter(|index| self.servers[*index].is_running())
    }

    /// All nodes that the node `viewer` knows.
    pub(super) fn nodes(&self, viewer: usize) -> Vec<NodeView> {
        match self.servers[viewer].try_command(&["CLUSTER", "NODES"]) {
            Ok(RespValue::Text(lines)) => {
                String::from_utf8_lossy(&lines).lines().filter_map(NodeView::read).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The view of the node `viewer` about the node `index`.
    pub(super) fn node(&self, viewer: usize, index: usize) -> Option<NodeView> {
        self.nodes(viewer).into_iter().find(|node| node.name == self.names[index])
    }

    /// Whether a node reports that the cluster is healthy.
    pub(super) fn is_ok(&self, viewer: usize) -> bool {
        match self.servers[viewer].try_command(&["CLUSTER", "INFO"]) {
            Ok(RespValue::Text(said)) => {
                String::from_utf8_lossy(&said).contains("cluster_state:ok")
            }
            _ => false,
        }
    }

    /// Whether this node knows exactly the existing nodes.
    pub(super) fn knows_all(&self, viewer: usize) -> bool {
        let nodes = self.nodes(viewer);
        nodes.len() == self.names.len() && nodes.iter().all(|node| self.names.contains(&node.name))
    }

    /// Whether all running nodes agree about this one, and it has the state it reports.
    pub(super) fn is_in_place(&self, index: usize) -> bool {
        let Some(itself) = self.node(index, index) else { return false };
        let agrees = |viewer| {
            self.node(viewer, index).is_some_and(|seen| seen.well && seen.agrees_with(&itself))
        };
        let does = match &itself.primary {
            None => self.servers[index].is_primary(),
            Some(primary) => {
                let from = self.names.iter().position(|name| name == primary);
                let port = from.map(|from| self.known_port(from));
                port.is_some() && self.servers[index].copies_from() == port
            }
        };
        does && self.is_ok(index) && self.running().all(agrees)
    }

    /// Whether the running nodes serve all slots.
    pub(super) fn all_slots_are_answered_for(&self) -> bool {
        let nodes: Vec<_> = self.nodes_themselves().map(|(_, node)| node).collect();
        (0..SLOTS).all(|slot| nodes.iter().any(|node| node.answers_for(slot)))
    }
}

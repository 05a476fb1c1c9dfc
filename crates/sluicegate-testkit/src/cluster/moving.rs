//! A slot moved from one primary to another, at once or step by step.

use crate::cluster::Cluster;
use crate::setup::{OWN_PASSWORD, OWN_USER};
use crate::value::Value;

/// How many keys are moved at a time, at most.
const AT_A_TIME: usize = 100;

impl Cluster {
    /// Moves a slot with all its keys from one primary to another.
    #[track_caller]
    pub fn move_slot(&self, slot: u16, from: usize, to: usize) {
        self.begin_moving(slot, from, to);
        self.move_keys(slot, from, to, usize::MAX);
        self.finish_moving(slot, from, to);
    }

    /// From now on `from` answers for the keys of the slot that it holds, and sends who asks for
    /// another to `to`, with `ASK`. Who asks for both at a time is told to try again later.
    #[track_caller]
    pub fn begin_moving(&self, slot: u16, from: usize, to: usize) {
        for (node, state, other) in [(to, "IMPORTING", from), (from, "MIGRATING", to)] {
            let slot = slot.to_string();
            self.servers[node].must(&["CLUSTER", "SETSLOT", &slot, state, &self.names[other]]);
        }
    }

    /// Moves keys of a slot that is being moved, as many as there are or as it is told; returns how
    /// many.
    #[track_caller]
    pub fn move_keys(&self, slot: u16, from: usize, to: usize, at_most: usize) -> usize {
        let mut moved = 0;
        while moved < at_most {
            let count = (at_most - moved).min(AT_A_TIME).to_string();
            let slot = slot.to_string();
            let found = self.servers[from].command(&["CLUSTER", "GETKEYSINSLOT", &slot, &count]);
            if found.items().is_empty() {
                break;
            }
            self.migrate(found.items(), from, to);
            moved += found.items().len();
        }
        moved
    }

    #[track_caller]
    fn migrate(&self, keys: &[Value], from: usize, to: usize) {
        let port = self.known_port(to).to_string();
        let mut words: Vec<&[u8]> = vec![b"MIGRATE", b"127.0.0.1", port.as_bytes(), b"", b"0"];
        words.extend([b"10000", b"AUTH2".as_slice()]);
        words.extend([OWN_USER.as_bytes(), OWN_PASSWORD.as_bytes(), b"KEYS"]);
        words.extend(keys.iter().map(|key| match key {
            Value::Text(bytes) => bytes.as_slice(),
            other => panic!("a key is a text, not {other:?}"),
        }));
        match self.servers[from].command(&words) {
            // Keys that have expired since are not there to be moved.
            Value::Text(said) if said == b"OK" || said == b"NOKEY" => {}
            other => panic!("moved keys from node {from} to node {to} and was told {other:?}"),
        }
    }

    /// From now on `to` answers for the slot, and all primaries know. Replicas hear of it from them.
    #[track_caller]
    pub fn finish_moving(&self, slot: u16, from: usize, to: usize) {
        // The new one first: at no time is there none.
        let others = self.primaries().into_iter().filter(|node| ![from, to].contains(node));
        for node in [to, from].into_iter().chain(others) {
            let slot = slot.to_string();
            self.servers[node].must(&["CLUSTER", "SETSLOT", &slot, "NODE", &self.names[to]]);
        }
    }

    /// Has `from` move all its slots to `to` by itself, which servers of Valkey can: until the last
    /// moment it answers for all of them. It begins now, and has ended when `from` has none.
    #[track_caller]
    pub fn begin_giving_away(&self, from: usize, to: usize) {
        let slots = self.slots_of(from);
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else { return };
        assert_eq!(usize::from(last - first) + 1, slots.len(), "its slots are one range");
        let (first, last) = (first.to_string(), last.to_string());
        let words = ["CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", &first, &last, "NODE"];
        self.servers[from].must(&[words.as_slice(), &[&self.names[to]]].concat());
    }
}

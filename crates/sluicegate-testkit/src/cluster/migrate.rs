//! Migrates a slot from one primary to another, at once or step by step.

use crate::cluster::Cluster;
use crate::resp::value::RespValue;
use crate::server::builder::{OWN_PASSWORD, OWN_USER};

/// The most keys to move at a time.
const AT_A_TIME: usize = 100;

impl Cluster {
    /// Migrates a slot with all its keys from one primary to another.
    #[track_caller]
    pub fn move_slot(&self, slot: u16, from: usize, to: usize) {
        self.begin_migration(slot, from, to);
        self.move_keys(slot, from, to, usize::MAX);
        self.finish_moving(slot, from, to);
    }

    /// Starts a migration: `from` serves the keys of the slot that it still holds, and redirects
    /// other keys to `to` with `ASK`. A command on keys of both is answered with `TRYAGAIN`.
    #[track_caller]
    pub fn begin_migration(&self, slot: u16, from: usize, to: usize) {
        for (node, state, other) in [(to, "IMPORTING", from), (from, "MIGRATING", to)] {
            let slot = slot.to_string();
            self.servers[node].must(&["CLUSTER", "SETSLOT", &slot, state, &self.names[other]]);
        }
    }

    /// Moves up to `at_most` keys of a slot in migration; returns how many.
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
    fn migrate(&self, keys: &[RespValue], from: usize, to: usize) {
        let port = self.known_port(to).to_string();
        let mut words: Vec<&[u8]> = vec![b"MIGRATE", b"127.0.0.1", port.as_bytes(), b"", b"0"];
        words.extend([b"10000", b"AUTH2".as_slice()]);
        words.extend([OWN_USER.as_bytes(), OWN_PASSWORD.as_bytes(), b"KEYS"]);
        words.extend(keys.iter().map(|key| match key {
            RespValue::Text(bytes) => bytes.as_slice(),
            other => panic!("a key is a text, not {other:?}"),
        }));
        match self.servers[from].command(&words) {
            // Keys that have expired since cannot be moved.
            RespValue::Text(said) if said == b"OK" || said == b"NOKEY" => {}
            other => panic!("moved keys from node {from} to node {to} and received {other:?}"),
        }
    }

    /// Ends a migration: `to` serves the slot, and all primaries know it. Replicas learn it from
    /// them.
    #[track_caller]
    pub fn finish_moving(&self, slot: u16, from: usize, to: usize) {
        // The new owner first, so that the slot always has one.
        let others = self.primaries().into_iter().filter(|node| ![from, to].contains(node));
        for node in [to, from].into_iter().chain(others) {
            let slot = slot.to_string();
            self.servers[node].must(&["CLUSTER", "SETSLOT", &slot, "NODE", &self.names[to]]);
        }
    }

    /// Makes `from` move all its slots to `to` by itself, as servers of Valkey can: until the last
    /// moment it serves all of them. The migration starts now, and has ended when `from` has none.
    #[track_caller]
    pub fn begin_migrating_all(&self, from: usize, to: usize) {
        let slots = self.slots_of(from);
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else { return };
        assert_eq!(usize::from(last - first) + 1, slots.len(), "its slots are one range");
        let (first, last) = (first.to_string(), last.to_string());
        let words = ["CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", &first, &last, "NODE"];
        self.servers[from].must(&[words.as_slice(), &[&self.names[to]]].concat());
    }
}

//! A subject that sends sets to a server and inspects the stored states.

use redis::{Client, Cmd, Connection, ConnectionLike, ErrorKind, ServerErrorKind, Value};
use sluicegate::Applied;
use sluicegate_conformance::Subject;
use sluicegate_core::{Decision, Ruling, Set, State, Time};
use sluicegate_testkit::Server;

use crate::script::cells::{StoredCell, cells_of};
use crate::script::reply::{ScriptRuling, SetReply};
use crate::script::{EncodedSet, KeySpace, ScriptCall, ScriptRef, decode_state, explain};

/// A connection to a server.
pub(super) fn connect(server: &Server) -> Connection {
    let client = Client::open(server.url()).expect("a server has an address");
    client.get_connection().expect("a server that was started answers")
}

/// The scripts to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptVariant {
    /// The fast path, and the full script where it cannot decide.
    Quick,
    /// The same, with the fast path for several slots.
    CrossSlot,
    /// The full one.
    Full,
}

impl ScriptVariant {
    pub(super) const ALL: [Self; 3] = [Self::Quick, Self::CrossSlot, Self::Full];
}

/// Sends sets to a server, at given times.
pub(super) struct ScriptServer {
    pub(super) connection: Connection,
    pub(super) key_space: KeySpace,
    pub(super) through: ScriptVariant,
    /// Passes the time to the server, and compares the stored states with those of the core.
    pub(super) driven: bool,
    pub(super) full_calls: usize,
    tag: u64,
}

impl ScriptServer {
    pub(super) fn new(connection: Connection, prefix: &str, page_bits: u32) -> Self {
        let key_space = KeySpace::new(prefix, [7; 32], page_bits);
        let through = ScriptVariant::Quick;
        Self { connection, key_space, through, driven: true, full_calls: 0, tag: 0 }
    }

    pub(super) fn run(&mut self, command: &Cmd) -> Value {
        let reply = self.connection.req_command(command).and_then(Value::extract_error);
        reply.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends encoded sets to the server in one call.
    pub(super) fn call<'a>(
        &mut self,
        now: Time,
        sets: impl IntoIterator<Item = &'a EncodedSet>,
    ) -> Vec<SetReply> {
        self.tag += 1;
        let now = self.driven.then_some(now);
        let sets: Vec<_> = sets.into_iter().collect();
        let quick = sets.iter().all(|set| set.is_plain());
        let call = match self.through {
            ScriptVariant::CrossSlot if quick => ScriptCall::cross_slot(sets),
            _ => ScriptCall::of(sets),
        };
        let command = call.command(self.tag, now, ScriptRef::Sha);
        let reply = match self.connection.req_command(&command).and_then(Value::extract_error) {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.run(&call.command(self.tag, now, ScriptRef::Text))
            }
            reply => reply.unwrap_or_else(|error| panic!("{error}")),
        };
        call.read(self.tag, reply).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(super) fn pack(&self, set: &Set<'_>) -> EncodedSet {
        let encoded = EncodedSet::new(set, &self.key_space);
        if self.through == ScriptVariant::Full { encoded.into_full() } else { encoded }
    }

    /// Decides one set, with the full script if necessary.
    pub(super) fn apply(&mut self, now: Time, set: &Set<'_>) -> SetReply {
        let encoded = self.pack(set);
        let mut answer = self.call(now, [&encoded]).remove(0);
        if answer.ruling == ScriptRuling::NotPlain {
            assert!(encoded.is_plain(), "the full script decides everything");
            self.full_calls += 1;
            answer = self.call(now, [&encoded.into_full()]).remove(0);
        }
        answer
    }

    /// Runs the core on an answer, and leaves the states after it in the answer.
    pub(super) fn explained(
        set: &Set<'_>,
        answer: &mut SetReply,
    ) -> (Ruling, Vec<Option<Decision>>) {
        let before = answer.clone();
        let mut decisions = vec![None; set.checks().len()];
        match explain(set, answer, &mut decisions) {
            Ok(Applied { ruling, .. }) => (ruling, decisions),
            Err(error) => panic!("{error}\nset: {set:#?}\nbefore: {before:#?}"),
        }
    }

    /// Panics unless the server stores these states in the cells of a set.
    pub(super) fn compare(&mut self, set: &Set<'_>, states: &[State]) {
        let cells = cells_of(set);
        for (cell, expected) in cells.names().iter().zip(states) {
            let found = self.stored(cell);
            assert_eq!(found, *expected, "what is kept of {cell:#?}");
        }
    }

    /// Reads the stored state of a cell. Every key must have an expiry.
    pub(super) fn stored(&mut self, cell: &StoredCell<'_>) -> State {
        match cell {
            StoredCell::Remembered(id, check) => {
                let subject = self.key_space.subject(check.key());
                let key = self.key_space.remembered(*id, subject);
                self.value(&key).map_or(State::Vacant, |bytes| decode_state::state(&bytes).unwrap())
            }
            StoredCell::Counter(check) => {
                let counter = self.key_space.counter(check);
                let (page, own) = (self.key_space.page(counter), self.key_space.state_key(counter));
                let in_page =
                    self.value(&page).and_then(|page| entry(&page, counter.fingerprint()));
                let by_itself = self.value(&own).map(|bytes| decode_state::state(&bytes).unwrap());
                match (in_page, by_itself) {
                    (Some(_), Some(_)) => panic!("a counter in two places: {cell:#?}"),
                    (in_page, by_itself) => in_page.or(by_itself).unwrap_or_default(),
                }
            }
        }
    }

    fn value(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        match self.run(Cmd::new().arg("GET").arg(key)) {
            Value::BulkString(bytes) => {
                assert!(self.time_to_live(key) > 0, "a key that never dies");
                Some(bytes)
            }
            _ => None,
        }
    }

    /// The remaining lifetime of a key in milliseconds.
    pub(super) fn time_to_live(&mut self, key: &[u8]) -> i64 {
        match self.run(Cmd::new().arg("PTTL").arg(key)) {
            Value::Int(millis) => millis,
            other => panic!("{other:?}"),
        }
    }

    /// All keys of this subject.
    pub(super) fn keys(&mut self) -> Vec<Vec<u8>> {
        let pattern = format!("{}*", self.key_space.channel().trim_end_matches("1:freed"));
        match self.run(Cmd::new().arg("KEYS").arg(pattern)) {
            Value::Array(keys) => keys
                .into_iter()
                .map(|key| match key {
                    Value::BulkString(key) => key,
                    other => panic!("{other:?}"),
                })
                .collect(),
            other => panic!("{other:?}"),
        }
    }
}

/// Parses an entry of a page, independently of the scripts.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole numbers")]
pub(super) fn entry(page: &[u8], fingerprint: [u8; 8]) -> Option<State> {
    let size = usize::from(page[0]) * 16;
    let entries = &page[21..];
    assert_eq!(entries.len() % size, 0, "a page of whole entries");
    let entry = entries.chunks(size).find(|entry| entry.starts_with(&fingerprint))?;
    let numbers: Vec<u64> = entry[8..]
        .chunks(8)
        .map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()) as u64)
        .collect();
    let (micros, parts, counted_in) = match numbers[..] {
        [micros] => (micros, 0, 1),
        [micros, parts, counted_in] => (micros, parts, counted_in),
        _ => panic!("a page is narrow or wide"),
    };
    let mut bytes = vec![if counted_in == 1 { 1 } else { 2 }];
    let numbers = [micros, counted_in, parts];
    for number in &numbers[..if counted_in == 1 { 1 } else { 3 }] {
        let mut number = *number;
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    Some(State::decode(&mut &bytes[..]).unwrap())
}

impl Subject for ScriptServer {
    fn apply(&mut self, now: Time, set: &Set<'_>) -> (Ruling, Vec<Option<Decision>>) {
        let mut answer = self.apply(now, set);
        assert_eq!(answer.now, now, "the script decides at the time it is given");
        let explained = Self::explained(set, &mut answer);
        self.compare(set, &answer.states);
        explained
    }
}

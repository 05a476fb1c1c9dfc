//! Several sets in one call of a script.

use redis::{Cmd, Value};
use sluicegate_core::Time;
use smallvec::SmallVec;

use super::encode::Encoder;
use super::encoded_set::{Contents, EncodedSet, PackedCell, PlainTake, ordinal};
use super::reply::{self, MalformedReply, SetReply};
use super::source::Script;

/// One call: its script, keys and arguments. The sets are decided in their order, each as if it
/// were alone.
#[derive(Debug)]
pub(crate) struct ScriptCall {
    script: &'static Script,
    /// The keys, concatenated, and the end of each.
    keys: Vec<u8>,
    ends: SmallVec<[usize; 8]>,
    /// The arguments beside the tag and the time.
    arguments: SmallVec<[Vec<u8>; 2]>,
    /// The number of cells of each set.
    cells: SmallVec<[usize; 8]>,
    /// Whether its keys are in several slots of a cluster.
    is_cross_slot: bool,
}

/// How a call refers to its script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptRef {
    /// By its digest, which the server knows if it has seen the script.
    Sha,
    /// By its text.
    Text,
}

/// The distinct keys of a call.
#[derive(Default)]
struct CallKeys<'a> {
    list: SmallVec<[&'a PackedCell; 8]>,
    /// The first set that uses each key, and whether another one does.
    used: SmallVec<[(usize, bool); 8]>,
}

impl<'a> CallKeys<'a> {
    /// Returns the index of the key of a cell of the `set`-th set.
    fn add(&mut self, cell: &'a PackedCell, set: usize) -> usize {
        let known = self.list.iter().position(|other| other.has_key_of(cell));
        let index = known.unwrap_or_else(|| {
            self.list.push(cell);
            self.used.push((set, false));
            self.list.len() - 1
        });
        let (first, again) = &mut self.used[index];
        *again |= *first != set;
        index
    }

    fn is_shared(&self, index: usize) -> bool {
        self.used[index].1
    }
}

impl ScriptCall {
    /// The call that decides these sets, of at most 64 checks altogether.
    pub(crate) fn of<'a>(sets: impl IntoIterator<Item = &'a EncodedSet>) -> Self {
        let sets: SmallVec<[&EncodedSet; 8]> = sets.into_iter().collect();
        let mut keys = CallKeys::default();
        let (script, arguments) = if sets.iter().all(|set| set.is_plain()) {
            (Script::plain(), plain(&sets, &mut keys))
        } else {
            full(&sets, &mut keys)
        };
        Self::assemble(&sets, &keys, script, arguments)
    }

    /// The call that decides these plain sets, across slots of a server. A set whose keys the
    /// server does not all have is [not plain](super::reply::ScriptRuling::NotPlain).
    pub(crate) fn cross_slot<'a>(sets: impl IntoIterator<Item = &'a EncodedSet>) -> Self {
        let sets: SmallVec<[&EncodedSet; 8]> = sets.into_iter().collect();
        let mut keys = CallKeys::default();
        let arguments = plain(&sets, &mut keys);
        let call = Self::assemble(&sets, &keys, Script::cross_slot(), arguments);
        Self { is_cross_slot: true, ..call }
    }

    fn assemble(
        sets: &[&EncodedSet],
        keys: &CallKeys<'_>,
        script: &'static Script,
        arguments: SmallVec<[Vec<u8>; 2]>,
    ) -> Self {
        let mut call = Self {
            script,
            keys: Vec::with_capacity(keys.list.iter().map(|cell| cell.key.len()).sum()),
            ends: SmallVec::new(),
            arguments,
            cells: sets.iter().map(|set| set.cells.len()).collect(),
            is_cross_slot: false,
        };
        for cell in &keys.list {
            call.keys.extend_from_slice(&cell.key);
            call.ends.push(call.keys.len());
        }
        call
    }

    /// The command: `tag` identifies the reply, `now` is passed where a test drives the clock.
    pub(crate) fn command(&self, tag: u64, now: Option<Time>, script_ref: ScriptRef) -> Cmd {
        let (name, script) = match script_ref {
            ScriptRef::Sha => ("EVALSHA", &self.script.sha),
            ScriptRef::Text => ("EVAL", &self.script.text),
        };
        let written: usize = self.arguments.iter().map(Vec::len).sum();
        let size = self.keys.len() + written + script.len() + 64;
        let mut command = Cmd::with_capacity(self.ends.len() + self.arguments.len() + 5, size);
        // Keys that are declared have to be in one slot.
        let named = if self.is_cross_slot { 0 } else { self.ends.len() };
        command.arg(name).arg(script).arg(named);
        if !self.is_cross_slot {
            self.add_keys(&mut command);
        }
        command.arg(tag);
        match now {
            Some(now) => command.arg(now.as_micros()),
            None => command.arg(""),
        };
        for argument in &self.arguments {
            command.arg(&argument[..]);
        }
        if self.is_cross_slot {
            self.add_keys(&mut command);
        }
        command
    }

    fn add_keys(&self, command: &mut Cmd) {
        let mut start = 0;
        for end in &self.ends {
            command.arg(&self.keys[start..*end]);
            start = *end;
        }
    }

    /// Whether its keys are in several slots of a cluster.
    pub(crate) fn is_cross_slot(&self) -> bool {
        self.is_cross_slot
    }

    /// The script of the call.
    pub(crate) fn script(&self) -> &'static Script {
        self.script
    }

    /// Parses the reply to the command with this tag: one answer for each set.
    pub(crate) fn read(&self, tag: u64, reply: Value) -> Result<Vec<SetReply>, MalformedReply> {
        reply::read(tag, &self.cells, reply)
    }
}

/// The arguments of the fast path.
fn plain<'a>(sets: &[&'a EncodedSet], keys: &mut CallKeys<'a>) -> SmallVec<[Vec<u8>; 2]> {
    let checks: usize = sets.iter().map(|set| set.checks()).sum();
    let mut places: SmallVec<[usize; 16]> = SmallVec::with_capacity(checks);
    for (index, set) in sets.iter().enumerate() {
        places.extend(set.cells.iter().map(|cell| keys.add(cell, index)));
    }
    let mut out = Vec::with_capacity(checks * PlainTake::BYTES);
    let mut places = places.into_iter();
    for set in sets {
        let Contents::Plain(takes) = &set.contents else { continue };
        let mut following = takes.len();
        for ((take, cell), key) in takes.iter().zip(&set.cells).zip(&mut places) {
            following -= 1;
            let shared = u8::from(keys.is_shared(key));
            take.write(&mut out, [ordinal(key), count(following), shared], cell.fingerprint);
        }
    }
    SmallVec::from_iter([out])
}

/// The arguments of the full script: the cells of all sets, each once; then the sets.
fn full<'a>(
    sets: &[&'a EncodedSet],
    keys: &mut CallKeys<'a>,
) -> (&'static Script, SmallVec<[Vec<u8>; 2]>) {
    const INDEPENDENT: u8 = 1;
    let mut cells: SmallVec<[&PackedCell; 16]> = SmallVec::new();
    let mut places = Vec::new();
    let mut body = Encoder::default();
    for (number, set) in sets.iter().enumerate() {
        let start = body.bytes.len();
        body.bytes.extend([0, count(set.checks()), count(set.cells.len())]);
        for cell in &set.cells {
            let known = cells.iter().position(|other| other.is_same(cell));
            let index = known.unwrap_or_else(|| {
                cells.push(cell);
                places.extend([ordinal(keys.add(cell, number)), cell.location as u8]);
                places.extend_from_slice(&cell.fingerprint);
                cells.len() - 1
            });
            body.bytes.push(ordinal(index));
        }
        if set.write_full(&mut body) {
            body.bytes[start] = INDEPENDENT;
        }
    }
    (Script::full(body.parts), SmallVec::from_iter([places, body.bytes]))
}

fn count(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

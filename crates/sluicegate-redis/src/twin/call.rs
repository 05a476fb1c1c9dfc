//! Several sets in one call of a script.

use redis::{Cmd, Value};
use sluicegate_core::Time;
use smallvec::SmallVec;

use super::answer::{self, Answer, Unreadable};
use super::body::Body;
use super::packed::{Contents, Packed, PackedCell, Plain, ordinal};
use super::script::Script;

/// One call: which script, on which keys, with what. The sets are decided in their order, each as
/// if it were alone.
#[derive(Debug)]
pub(crate) struct Call {
    script: &'static Script,
    /// The keys, one after the other, and where each of them ends.
    keys: Vec<u8>,
    ends: SmallVec<[usize; 8]>,
    /// What the script reads beside the tag and the time.
    arguments: SmallVec<[Vec<u8>; 2]>,
    /// How many cells each set has.
    cells: SmallVec<[usize; 8]>,
    /// Whether its keys are in several slots of a cluster.
    is_scattered: bool,
}

/// How a script is named to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// By its digest, which the server knows if it has seen the script.
    Sha,
    /// By all of its text.
    Text,
}

/// The distinct keys of a call.
#[derive(Default)]
struct Keys<'a> {
    list: SmallVec<[&'a PackedCell; 8]>,
    /// The first set that meets each, and whether another one does.
    met: SmallVec<[(usize, bool); 8]>,
}

impl<'a> Keys<'a> {
    /// The place of the key that a cell of the `set`-th set has.
    fn add(&mut self, cell: &'a PackedCell, set: usize) -> usize {
        let known = self.list.iter().position(|other| other.has_key_of(cell));
        let index = known.unwrap_or_else(|| {
            self.list.push(cell);
            self.met.push((set, false));
            self.list.len() - 1
        });
        if let Some((first, again)) = self.met.get_mut(index) {
            *again |= *first != set;
        }
        index
    }

    fn is_shared(&self, index: usize) -> bool {
        self.met.get(index).is_some_and(|(_, again)| *again)
    }
}

impl Call {
    /// The call that decides these sets, of at most 64 checks altogether.
    pub(crate) fn of<'a>(sets: impl IntoIterator<Item = &'a Packed>) -> Self {
        let sets: SmallVec<[&Packed; 8]> = sets.into_iter().collect();
        let mut keys = Keys::default();
        let (script, arguments) = if sets.iter().all(|set| set.is_plain()) {
            (Script::plain(), plain(&sets, &mut keys))
        } else {
            full(&sets, &mut keys)
        };
        Self::put_together(&sets, &keys, script, arguments)
    }

    /// The call that decides these plain sets, wherever in a cluster's server their keys are. A set
    /// that the server does not have all keys of is [not plain](super::answer::Reached::NotPlain).
    pub(crate) fn scattered<'a>(sets: impl IntoIterator<Item = &'a Packed>) -> Self {
        let sets: SmallVec<[&Packed; 8]> = sets.into_iter().collect();
        let mut keys = Keys::default();
        let arguments = plain(&sets, &mut keys);
        let call = Self::put_together(&sets, &keys, Script::scattered(), arguments);
        Self { is_scattered: true, ..call }
    }

    fn put_together(
        sets: &[&Packed],
        keys: &Keys<'_>,
        script: &'static Script,
        arguments: SmallVec<[Vec<u8>; 2]>,
    ) -> Self {
        let mut call = Self {
            script,
            keys: Vec::with_capacity(keys.list.iter().map(|cell| cell.key.len()).sum()),
            ends: SmallVec::new(),
            arguments,
            cells: sets.iter().map(|set| set.cells.len()).collect(),
            is_scattered: false,
        };
        for cell in &keys.list {
            call.keys.extend_from_slice(&cell.key);
            call.ends.push(call.keys.len());
        }
        call
    }

    /// The command: `tag` comes back with the reply, `now` is given where time is driven.
    pub(crate) fn command(&self, tag: u64, now: Option<Time>, how: How) -> Cmd {
        let (name, script) = match how {
            How::Sha => ("EVALSHA", &self.script.sha),
            How::Text => ("EVAL", &self.script.text),
        };
        let written: usize = self.arguments.iter().map(Vec::len).sum();
        let size = self.keys.len() + written + script.len() + 64;
        let mut command = Cmd::with_capacity(self.ends.len() + self.arguments.len() + 5, size);
        // Keys that are named as such have to be in one slot.
        let named = if self.is_scattered { 0 } else { self.ends.len() };
        command.arg(name).arg(script).arg(named);
        if !self.is_scattered {
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
        if self.is_scattered {
            self.add_keys(&mut command);
        }
        command
    }

    fn add_keys(&self, command: &mut Cmd) {
        let mut start = 0;
        for end in &self.ends {
            command.arg(self.keys.get(start..*end).unwrap_or_default());
            start = *end;
        }
    }

    /// Whether its keys are in several slots of a cluster.
    pub(crate) fn is_scattered(&self) -> bool {
        self.is_scattered
    }

    /// Which script it is put to.
    pub(crate) fn script(&self) -> &'static Script {
        self.script
    }

    /// Reads the reply to the command with this tag: one answer for each set.
    pub(crate) fn read(&self, tag: u64, reply: Value) -> Result<Vec<Answer>, Unreadable> {
        answer::read(tag, &self.cells, reply)
    }
}

/// What the quick script reads.
fn plain<'a>(sets: &[&'a Packed], keys: &mut Keys<'a>) -> SmallVec<[Vec<u8>; 2]> {
    let checks: usize = sets.iter().map(|set| set.checks()).sum();
    let mut places: SmallVec<[usize; 16]> = SmallVec::with_capacity(checks);
    for (index, set) in sets.iter().enumerate() {
        places.extend(set.cells.iter().map(|cell| keys.add(cell, index)));
    }
    let mut out = Vec::with_capacity(checks * Plain::BYTES);
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

/// What the full script reads: the cells of all sets, each once; then the sets.
fn full<'a>(sets: &[&'a Packed], keys: &mut Keys<'a>) -> (&'static Script, SmallVec<[Vec<u8>; 2]>) {
    const INDEPENDENT: u8 = 1;
    let mut cells: SmallVec<[&PackedCell; 16]> = SmallVec::new();
    let mut places = Vec::new();
    let mut body = Body::default();
    for (number, set) in sets.iter().enumerate() {
        let start = body.bytes.len();
        body.bytes.extend([0, count(set.checks()), count(set.cells.len())]);
        for cell in &set.cells {
            let known = cells.iter().position(|other| other.is_same(cell));
            let index = known.unwrap_or_else(|| {
                cells.push(cell);
                places.extend([ordinal(keys.add(cell, number)), cell.home as u8]);
                places.extend_from_slice(&cell.fingerprint);
                cells.len() - 1
            });
            body.bytes.push(ordinal(index));
        }
        if set.write_full(&mut body)
            && let Some(flags) = body.bytes.get_mut(start)
        {
            *flags = INDEPENDENT;
        }
    }
    (Script::full(body.parts), SmallVec::from_iter([places, body.bytes]))
}

fn count(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

//! One encoded set.

use sluicegate::CellMap;
use sluicegate_core::{BucketParameters, Check, Operation, Parameters, Set};
use smallvec::SmallVec;

use super::cells::{StoredCell, cells_of};
use super::encode::{Encoder, double};
use super::key_space::{Counter, CounterName, Fingerprint, KeySpace};

/// An owned, encoded set; it borrows nothing from the caller.
#[derive(Debug, Clone)]
pub(crate) struct EncodedSet {
    counters: SmallVec<[Counter; 2]>,
    pub(super) cells: SmallVec<[PackedCell; 2]>,
    pub(super) contents: Contents,
    needs_full: bool,
}

/// The key of a cell, and its place there.
#[derive(Debug, Clone)]
pub(super) struct PackedCell {
    pub(super) key: Vec<u8>,
    /// Compared before the keys: equal keys have equal hashes, different keys almost never.
    pub(super) hash: u64,
    pub(super) location: CellLocation,
    pub(super) fingerprint: Fingerprint,
    /// The counter, if it is one: another limit of its name may use another location.
    pub(super) counter: Option<Counter>,
}

/// The kind of location of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellLocation {
    /// In a page; if it is not there, under a key of its own.
    Page = 1,
    /// Under a key of its own; if it is not there, in a page.
    Own = 2,
    /// Under a key that is named after the id of the operation.
    Remembered = 3,
}

/// The encoding for the script.
#[derive(Debug, Clone)]
pub(super) enum Contents {
    /// Takes that all have to admit, from different buckets of whole microseconds.
    Plain(SmallVec<[PlainTake; 2]>),
    /// Any other checks.
    Full { body: Encoder, independent: bool },
}

/// One plain take: the numbers of its bucket, and the units.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainTake {
    figures: BucketParameters,
    least: u64,
    most: u64,
}

impl EncodedSet {
    /// Encodes a set of at most 64 checks. Its calendar windows have their periods, and it is not
    /// [contradictory](super::is_contradictory).
    pub(crate) fn new(set: &Set<'_>, key_space: &KeySpace) -> Self {
        let cells = cells_of(set);
        let mut encoded: SmallVec<[PackedCell; 2]> = SmallVec::with_capacity(cells.names().len());
        // Most sets are about one subject, so its key is hashed once.
        let mut known: Option<(&[u8], CounterName)> = None;
        encoded.extend(cells.names().iter().map(|cell| {
            let key = cell.check().key();
            let subject = match known {
                Some((other, subject)) if other == key => subject,
                _ => key_space.subject(key),
            };
            known = Some((key, subject));
            PackedCell::new(cell, subject, key_space)
        }));
        let counters = cells
            .places()
            .iter()
            .map(|place| encoded.get(place.index()).and_then(|cell| cell.counter))
            .map(|counter| counter.unwrap_or(Counter::NONE))
            .collect();
        let contents = Self::plain(set, &encoded).unwrap_or_else(|| Self::full(set, &cells));
        Self { counters, cells: encoded, contents, needs_full: false }
    }

    fn plain(set: &Set<'_>, cells: &[PackedCell]) -> Option<Contents> {
        if set.is_independent() || cells.len() != set.checks().len() || returns_to_a_page(cells) {
            return None;
        }
        set.checks().iter().map(PlainTake::of).collect::<Option<_>>().map(Contents::Plain)
    }

    fn full(set: &Set<'_>, cells: &CellMap<StoredCell<'_>>) -> Contents {
        let mut body = Encoder::default();
        for (index, (check, place)) in set.checks().iter().zip(cells.places()).enumerate() {
            let settled = check.settles().and_then(|id| {
                cells
                    .names()
                    .iter()
                    .position(|cell| matches!(cell, StoredCell::Remembered(at, _) if *at == id))
            });
            body.add(set, index, check, ordinal(place.index()), settled.map(ordinal));
        }
        Contents::Full { body, independent: set.is_independent() }
    }

    /// The number of checks of the set.
    pub(crate) fn checks(&self) -> usize {
        self.counters.len()
    }

    /// Whether the fast path may decide the set.
    pub(crate) fn is_plain(&self) -> bool {
        !self.needs_full && matches!(self.contents, Contents::Plain(_))
    }

    /// The same set for the full script.
    #[cfg(test)]
    pub(crate) fn into_full(self) -> Self {
        Self { needs_full: true, ..self }
    }

    /// Restricts the set to the full script from now on.
    pub(crate) fn make_full(&mut self) {
        self.needs_full = true;
    }

    /// The counter of a check.
    pub(crate) fn counter(&self, check: usize) -> Counter {
        self.counters[check]
    }

    /// Encodes the set for the full script. Returns whether it is independent.
    pub(super) fn write_full(&self, out: &mut Encoder) -> bool {
        match &self.contents {
            Contents::Full { body, independent } => {
                out.bytes.extend_from_slice(&body.bytes);
                out.parts |= body.parts;
                *independent
            }
            Contents::Plain(takes) => {
                for (index, PlainTake { figures, least, most }) in takes.iter().enumerate() {
                    out.add_take(ordinal(index), figures, *least, *most);
                }
                false
            }
        }
    }
}

/// The number of a cell or a key, counted from 1 as in Lua. There are never more than 128.
pub(super) fn ordinal(index: usize) -> u8 {
    u8::try_from(index + 1).unwrap_or(u8::MAX)
}

/// Whether cells of one page have a cell of another page between them.
///
/// The fast path writes a page when the next check is in another one, and keeps positions that it
/// found before: a set that returns to a page would overwrite or lose its own charges.
fn returns_to_a_page(cells: &[PackedCell]) -> bool {
    cells.iter().enumerate().any(|(index, cell)| {
        let mut earlier = cells.iter().take(index).rev();
        earlier.next().is_some_and(|previous| !cell.has_key_of(previous))
            && earlier.any(|other| cell.has_key_of(other))
    })
}

impl PackedCell {
    fn new(cell: &StoredCell<'_>, subject: CounterName, key_space: &KeySpace) -> Self {
        let counter = subject.counter(cell.check().limit());
        let fingerprint = counter.fingerprint();
        match cell {
            StoredCell::Counter(check) => {
                let (key, hash, location) = match check.limit().figures() {
                    Parameters::Bucket(_) | Parameters::Queue(_) => {
                        (key_space.page(counter), u64::from(counter.page()), CellLocation::Page)
                    }
                    _ => (key_space.state_key(counter), !counter.hash(), CellLocation::Own),
                };
                Self { key, hash, location, fingerprint, counter: Some(counter) }
            }
            StoredCell::Remembered(id, _) => {
                let [high, low] = [id.to_bits() >> 64, id.to_bits() & u128::from(u64::MAX)]
                    .map(|half| u64::try_from(half).unwrap_or(0));
                let (key, hash) = (key_space.remembered(*id, subject), high ^ low.rotate_left(32));
                Self { key, hash, location: CellLocation::Remembered, fingerprint, counter: None }
            }
        }
    }

    pub(super) fn has_key_of(&self, other: &Self) -> bool {
        self.hash == other.hash && self.key == other.key
    }

    /// Whether it is the same cell, in any location.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.counter == other.counter && (self.counter.is_some() || self.has_key_of(other))
    }
}

impl PlainTake {
    /// Encoded bytes of a check.
    pub(super) const BYTES: usize = 51;

    fn of(check: &Check<'_>) -> Option<Self> {
        if !check.takes_from_bucket() {
            return None;
        }
        match (check.limit().figures(), check.operation()) {
            (Parameters::Bucket(figures), Operation::Take(take))
                if figures.parts == 1 && take.max_delay().is_none() =>
            {
                Some(Self { figures, least: take.least(), most: take.most() })
            }
            _ => None,
        }
    }

    /// Encodes the check for the fast path: the number of its key, how many checks of its set
    /// follow, whether another set uses its page, the fingerprint, and the numbers.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        [key, following, shared]: [u8; 3],
        fingerprint: Fingerprint,
    ) {
        let BucketParameters { unit_parts, full, horizon, .. } = self.figures;
        out.extend([key, following, shared]);
        out.extend(fingerprint);
        for number in [unit_parts, full.micros(), horizon.micros(), self.least, self.most] {
            out.extend(double(number));
        }
    }
}

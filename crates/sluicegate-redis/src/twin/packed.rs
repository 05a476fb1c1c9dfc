//! One set, ready to be put to the server.

use sluicegate_core::{Ask, BucketFigures, Check, Figures, Set};
use smallvec::SmallVec;

use super::body::{Body, double};
use super::cells::{Cell, Cells};
use super::naming::{Counter, Fingerprint, Naming, Subject};

/// One set, which needs nothing of whoever made it any more.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    counters: SmallVec<[Counter; 2]>,
    pub(super) cells: SmallVec<[PackedCell; 2]>,
    pub(super) contents: Contents,
    forced: bool,
}

/// Where one of its cells is looked for.
#[derive(Debug, Clone)]
pub(super) struct PackedCell {
    pub(super) key: Vec<u8>,
    /// Tells keys apart almost always; the same key has the same.
    pub(super) hash: u64,
    pub(super) home: Home,
    pub(super) fingerprint: Fingerprint,
    /// The counter, if it is one: another limit of its name may look for it in another place.
    pub(super) counter: Option<Counter>,
}

/// What kind of place that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// In a page; if it is not there, under a key of its own.
    Page = 1,
    /// Under a key of its own; if it is not there, in a page.
    Own = 2,
    /// Under a key that is named after what was done.
    Remembered = 3,
}

/// What the script reads.
#[derive(Debug, Clone)]
pub(super) enum Contents {
    /// Takes that all have to admit, from different buckets of whole microseconds.
    Plain(SmallVec<[Plain; 2]>),
    /// Anything.
    Full { body: Body, independent: bool },
}

/// One plain take: the numbers of its bucket, and what is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain {
    figures: BucketFigures,
    least: u64,
    most: u64,
}

impl Packed {
    /// Packs a set of at most 64 checks. Its calendars have their periods, and it is not
    /// [contradictory](super::is_contradictory).
    pub(crate) fn new(set: &Set<'_>, naming: &Naming) -> Self {
        let cells = Cells::of(set);
        let mut packed: SmallVec<[PackedCell; 2]> = SmallVec::with_capacity(cells.list.len());
        // Most sets are about somebody, whom hashing once tells.
        let mut known: Option<(&[u8], Subject)> = None;
        packed.extend(cells.list.iter().map(|cell| {
            let key = cell.check().key();
            let subject = match known {
                Some((other, subject)) if other == key => subject,
                _ => naming.subject(key),
            };
            known = Some((key, subject));
            PackedCell::new(cell, subject, naming)
        }));
        let counters = cells
            .places
            .iter()
            .map(|place| packed.get(place.index()).and_then(|cell| cell.counter))
            .map(|counter| counter.unwrap_or(Counter::NONE))
            .collect();
        let contents = Self::plain(set, &packed).unwrap_or_else(|| Self::full(set, &cells));
        Self { counters, cells: packed, contents, forced: false }
    }

    fn plain(set: &Set<'_>, cells: &[PackedCell]) -> Option<Contents> {
        if set.is_independent() || cells.len() != set.checks().len() || returns_to_a_page(cells) {
            return None;
        }
        set.checks().iter().map(Plain::of).collect::<Option<_>>().map(Contents::Plain)
    }

    fn full(set: &Set<'_>, cells: &Cells<'_>) -> Contents {
        let mut body = Body::default();
        for (index, (check, place)) in set.checks().iter().zip(&cells.places).enumerate() {
            let settled = check.settles().and_then(|id| {
                cells
                    .list
                    .iter()
                    .position(|cell| matches!(cell, Cell::Remembered(at, _) if *at == id))
            });
            body.add(set, index, check, ordinal(place.index()), settled.map(ordinal));
        }
        Contents::Full { body, independent: set.is_independent() }
    }

    /// How many checks it has.
    pub(crate) fn checks(&self) -> usize {
        self.counters.len()
    }

    /// Whether the quick script may be asked.
    pub(crate) fn is_plain(&self) -> bool {
        !self.forced && matches!(self.contents, Contents::Plain(_))
    }

    /// The same set for the full script.
    #[cfg(test)]
    pub(crate) fn into_full(self) -> Self {
        Self { forced: true, ..self }
    }

    /// From now on it is for the full script.
    pub(crate) fn make_full(&mut self) {
        self.forced = true;
    }

    /// The counter that a check asks.
    pub(crate) fn counter(&self, check: usize) -> Counter {
        self.counters.get(check).copied().unwrap_or(Counter::NONE)
    }

    /// The set as the full script reads it, and whether it is independent.
    pub(super) fn write_full(&self, out: &mut Body) -> bool {
        match &self.contents {
            Contents::Full { body, independent } => {
                out.bytes.extend_from_slice(&body.bytes);
                out.parts |= body.parts;
                *independent
            }
            Contents::Plain(takes) => {
                for (index, Plain { figures, least, most }) in takes.iter().enumerate() {
                    out.add_take(ordinal(index), figures, *least, *most);
                }
                false
            }
        }
    }
}

/// The number of a cell or a key, as scripts count: from 1. There are never more than 128.
pub(super) fn ordinal(index: usize) -> u8 {
    u8::try_from(index + 1).unwrap_or(u8::MAX)
}

/// Whether cells of one page have a cell of another page between them.
///
/// The quick script writes a page when the next check is in another one, and keeps positions that it
/// found before: a set that came back would overwrite or lose its own charges.
fn returns_to_a_page(cells: &[PackedCell]) -> bool {
    cells.iter().enumerate().any(|(index, cell)| {
        let mut earlier = cells.iter().take(index).rev();
        earlier.next().is_some_and(|previous| !cell.has_key_of(previous))
            && earlier.any(|other| cell.has_key_of(other))
    })
}

impl PackedCell {
    fn new(cell: &Cell<'_>, subject: Subject, naming: &Naming) -> Self {
        let counter = subject.counter(cell.check().limit());
        let fingerprint = counter.fingerprint();
        match cell {
            Cell::Counter(check) => {
                let (key, hash, home) = match check.limit().figures() {
                    Figures::Bucket(_) | Figures::Queue(_) => {
                        (naming.page(counter), u64::from(counter.page()), Home::Page)
                    }
                    _ => (naming.own(counter), !counter.hash(), Home::Own),
                };
                Self { key, hash, home, fingerprint, counter: Some(counter) }
            }
            Cell::Remembered(id, _) => {
                let [high, low] = [id.to_bits() >> 64, id.to_bits() & u128::from(u64::MAX)]
                    .map(|half| u64::try_from(half).unwrap_or(0));
                let (key, hash) = (naming.remembered(*id, subject), high ^ low.rotate_left(32));
                Self { key, hash, home: Home::Remembered, fingerprint, counter: None }
            }
        }
    }

    pub(super) fn has_key_of(&self, other: &Self) -> bool {
        self.hash == other.hash && self.key == other.key
    }

    /// Whether it is the same cell, wherever it is looked for.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.counter == other.counter && (self.counter.is_some() || self.has_key_of(other))
    }
}

impl Plain {
    /// How many bytes a check takes.
    pub(super) const BYTES: usize = 51;

    fn of(check: &Check<'_>) -> Option<Self> {
        if !check.takes_from_bucket() {
            return None;
        }
        match (check.limit().figures(), check.asks()) {
            (Figures::Bucket(figures), Ask::Take(take))
                if figures.parts == 1 && take.patience().is_none() =>
            {
                Some(Self { figures, least: take.least(), most: take.most() })
            }
            _ => None,
        }
    }

    /// Writes the check as the quick script reads it: the number of its key, how many checks of
    /// its set follow, whether another set meets its page, who, and the numbers.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        [key, following, shared]: [u8; 3],
        who: Fingerprint,
    ) {
        let BucketFigures { unit_parts, full, horizon, .. } = self.figures;
        out.extend([key, following, shared]);
        out.extend(who);
        for number in [unit_parts, full.micros(), horizon.micros(), self.least, self.most] {
            out.extend(double(number));
        }
    }
}

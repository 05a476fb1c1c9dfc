//! One check of a set, as an input spells it.

use sluicegate::period_at;
use sluicegate_core::{Ask, Check, Cost, Id, Limit, Place, Receipt, Span, Time};

use crate::bytes::Bytes;
use crate::limits::{self, Named};

/// Names of limits. Limits of one name share their counters, as they do after a rule changed.
pub(crate) const NAMES: [&str; 3] = ["first", "second", "third"];
pub(crate) const KEYS: [&str; 2] = ["key", "other"];
/// A counter for each name and key.
pub(crate) const CELLS: usize = NAMES.len() * KEYS.len();
/// Changes of tier that can be told apart.
pub(crate) const CHANGES: usize = 4;

/// A limit and a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) limit: usize,
    pub(crate) key: usize,
}

/// A receipt, and what it was handed out for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    pub(crate) receipt: Receipt,
    pub(crate) subject: Subject,
}

/// One check of a set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) subject: Subject,
    pub(crate) ask: Ask,
    /// Which of the cells that remember what is done once is this check's.
    remembered: Option<usize>,
    observed: bool,
    pub(crate) alternative: bool,
    /// Leaves out the calendar window, as a caller might.
    without_period: bool,
}

impl Asked {
    pub(crate) fn read(bytes: &mut Bytes<'_>, limits: &[Named], receipts: &[Kept]) -> Self {
        let flags = bytes.byte();
        let mut subject =
            Subject { limit: bytes.choice(limits.len()), key: usize::from(flags >> 7) };
        let byte = bytes.byte();
        let kind = byte % 8;
        let receipt =
            ((5..=6).contains(&kind) && !receipts.is_empty()).then(|| bytes.choice(receipts.len()));
        // Receipts are mostly brought back to where they came from.
        if let Some(index) = receipt.filter(|_| flags & 64 == 0) {
            subject = receipts[index].subject;
        }
        let limit = &limits[subject.limit].limit;
        let mut remembered = receipt.map(|index| CHANGES + index);
        if kind == 1
            && byte >= 128
            && let Some(from) = limits::tier(bytes)
        {
            let change = bytes.choice(CHANGES);
            remembered = Some(change);
            let ask = Ask::Rescale { from, id: Id::from_bits(change as u128) };
            return Self { ask, ..Self::plain(subject, flags, remembered) };
        }
        let ask = match (kind, receipt.map(|index| receipts[index].receipt)) {
            (2, _) => Ask::up_to(cost(bytes, limit), cost(bytes, limit)),
            (3, _) => {
                let patience = Span::from_micros(bytes.number(u64::MAX - 1));
                Ask::wait(cost(bytes, limit), patience)
            }
            (4, _) => Ask::Charge(cost(bytes, limit)),
            (5, Some(receipt)) => Ask::Settle { receipt, actual: cost(bytes, limit) },
            (6, Some(receipt)) => Ask::Renew(receipt),
            (7, _) if byte >= 128 => Ask::Refund(cost(bytes, limit)),
            (7, _) => Ask::Reset,
            _ => Ask::acquire(cost(bytes, limit)),
        };
        Self { ask, ..Self::plain(subject, flags, remembered) }
    }

    fn plain(subject: Subject, flags: u8, remembered: Option<usize>) -> Self {
        Self {
            subject,
            ask: Ask::peek(),
            remembered,
            observed: matches!(flags % 8, 1 | 3),
            alternative: matches!(flags % 8, 2 | 3),
            without_period: flags & 63 == 63,
        }
    }

    /// Whether this says how its counter is to be read, which it does whatever becomes of its set.
    pub(crate) fn rescales(&self) -> bool {
        matches!(self.ask, Ask::Rescale { .. })
    }

    /// The check, in the calendar window that `now` falls into.
    pub(crate) fn check<'a>(&self, limits: &'a [Named], now: Time) -> Check<'a> {
        let limit = &limits[self.subject.limit].limit;
        let mut check = Check::new(limit, KEYS[self.subject.key]).ask(self.ask);
        if self.observed {
            check = check.observed();
        }
        if self.alternative {
            check = check.or_else();
        }
        match limit.calendar() {
            Some(per) if !self.without_period => check.within(period_at(per, now)),
            _ => check,
        }
    }

    /// The counter it meets.
    pub(crate) fn cell(&self, limits: &[Named]) -> usize {
        limits[self.subject.limit].name * KEYS.len() + self.subject.key
    }

    /// Its place among the counters, of which those that remember come last.
    pub(crate) fn place(&self, limits: &[Named]) -> Place {
        let place = Place::cell(self.cell(limits));
        self.remembered_in().map_or(place, |cell| place.remembered_in(cell))
    }

    /// Where it is remembered that this was done.
    pub(crate) fn remembered_in(&self) -> Option<usize> {
        self.remembered.map(|index| CELLS + index)
    }
}

/// Any cost, but often one near the capacity: others would never exhaust a large limit.
fn cost(bytes: &mut Bytes<'_>, limit: &Limit) -> Cost {
    let units = match bytes.choice(4) {
        0 => limit.capacity().saturating_sub(bytes.number(Cost::MAX.units())),
        1 => limit.capacity() / 2 + bytes.number(2),
        _ => bytes.number(Cost::MAX.units()),
    };
    Cost::new(units).unwrap_or(Cost::MAX)
}

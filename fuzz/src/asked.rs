//! One check of a set, as an input spells it.

use tollgate::period_at;
use tollgate_core::{Ask, Check, Cost, Limit, Place, Receipt, Span, Time};

use crate::bytes::Bytes;
use crate::limits::Named;

/// Names of limits. Limits of one name share their counters, as they do after a rule changed.
pub(crate) const NAMES: [&str; 3] = ["first", "second", "third"];
pub(crate) const KEYS: [&str; 2] = ["key", "other"];
/// A counter for each name and key.
pub(crate) const CELLS: usize = NAMES.len() * KEYS.len();

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
    /// Which of the receipts kept this check names.
    receipt: Option<usize>,
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
        let kind = bytes.byte() % 8;
        let receipt =
            ((5..=6).contains(&kind) && !receipts.is_empty()).then(|| bytes.choice(receipts.len()));
        // Receipts are mostly brought back to where they came from.
        if let Some(index) = receipt.filter(|_| flags & 64 == 0) {
            subject = receipts[index].subject;
        }
        let limit = &limits[subject.limit].limit;
        let ask = match (kind, receipt.map(|index| receipts[index].receipt)) {
            (2, _) => Ask::up_to(cost(bytes, limit), cost(bytes, limit)),
            (3, _) => {
                let patience = Span::from_micros(bytes.number(u64::MAX - 1));
                Ask::wait(cost(bytes, limit), patience)
            }
            (4, _) => Ask::Charge(cost(bytes, limit)),
            (5, Some(receipt)) => Ask::Settle { receipt, actual: cost(bytes, limit) },
            (6, Some(receipt)) => Ask::Renew(receipt),
            (7, _) => Ask::Reset,
            _ => Ask::acquire(cost(bytes, limit)),
        };
        Self {
            subject,
            ask,
            receipt,
            observed: flags % 8 == 1,
            alternative: flags % 8 == 2,
            without_period: flags & 63 == 63,
        }
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

    /// Its place among the counters, of which those of the receipts come last.
    pub(crate) fn place(&self, limits: &[Named]) -> Place {
        let place = Place::cell(self.cell(limits));
        self.receipt.map_or(place, |index| place.remembered_in(CELLS + index))
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

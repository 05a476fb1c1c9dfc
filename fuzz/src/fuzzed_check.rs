//! One check of a set, decoded from the input.

use sluicegate::period_at;
use sluicegate_core::{CellRef, ChargeId, Check, Cost, Limit, Operation, Receipt, Span, Time};

use crate::bytes::Bytes;
use crate::limits::{self, NamedLimit};

/// Names of limits. Limits of one name share their counters, as they do after a rule changed.
pub(crate) const NAMES: [&str; 3] = ["first", "second", "third"];
pub(crate) const KEYS: [&str; 2] = ["key", "other"];
/// A counter for each name and key.
pub(crate) const CELLS: usize = NAMES.len() * KEYS.len();
/// Distinct changes of tier.
pub(crate) const CHANGES: usize = 4;

/// A limit and a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) limit: usize,
    pub(crate) key: usize,
}

/// A receipt, with its counter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IssuedReceipt {
    pub(crate) receipt: Receipt,
    pub(crate) subject: Subject,
}

/// One check of a set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FuzzedCheck {
    pub(crate) subject: Subject,
    pub(crate) operation: Operation,
    /// The cell of its settlement marker.
    remembered: Option<usize>,
    pub(crate) alternative: bool,
    /// Omits the calendar window, as a caller might.
    without_period: bool,
}

impl FuzzedCheck {
    pub(crate) fn read(
        bytes: &mut Bytes<'_>,
        limits: &[NamedLimit],
        receipts: &[IssuedReceipt],
    ) -> Self {
        let flags = bytes.byte();
        let mut subject =
            Subject { limit: bytes.choice(limits.len()), key: usize::from(flags >> 7) };
        let byte = bytes.byte();
        let kind = byte % 8;
        let receipt =
            ((5..=6).contains(&kind) && !receipts.is_empty()).then(|| bytes.choice(receipts.len()));
        // Receipts mostly go back to their own counter.
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
            let operation = Operation::Rescale { from, id: ChargeId::from_bits(change as u128) };
            return Self { operation, ..Self::plain(subject, flags, remembered) };
        }
        let operation = match (kind, receipt.map(|index| receipts[index].receipt)) {
            (2, _) => Operation::up_to(cost(bytes, limit), cost(bytes, limit)),
            (3, _) => {
                let patience = Span::from_micros(bytes.number(u64::MAX - 1));
                Operation::wait(cost(bytes, limit), patience)
            }
            (4, _) => Operation::Charge(cost(bytes, limit)),
            (5, Some(receipt)) => Operation::Settle { receipt, actual: cost(bytes, limit) },
            (6, Some(receipt)) => Operation::Renew(receipt),
            (7, _) if byte >= 128 => Operation::Refund(cost(bytes, limit)),
            (7, _) => Operation::Reset,
            _ => Operation::acquire(cost(bytes, limit)),
        };
        Self { operation, ..Self::plain(subject, flags, remembered) }
    }

    fn plain(subject: Subject, flags: u8, remembered: Option<usize>) -> Self {
        Self {
            subject,
            operation: Operation::peek(),
            remembered,
            alternative: matches!(flags % 8, 2 | 3),
            without_period: flags & 63 == 63,
        }
    }

    /// Returns whether this defines how its counter is read, which is kept even if its set is
    /// refused.
    pub(crate) fn rescales(&self) -> bool {
        matches!(self.operation, Operation::Rescale { .. })
    }

    /// Returns the check, in the calendar window of `now`.
    pub(crate) fn check<'a>(&self, limits: &'a [NamedLimit], now: Time) -> Check<'a> {
        let limit = &limits[self.subject.limit].limit;
        let mut check = Check::new(limit, KEYS[self.subject.key]).with_operation(self.operation);
        if self.alternative {
            check = check.or_else();
        }
        match limit.calendar() {
            Some(per) if !self.without_period => check.within(period_at(per, now)),
            _ => check,
        }
    }

    /// Returns the counter.
    pub(crate) fn cell(&self, limits: &[NamedLimit]) -> usize {
        limits[self.subject.limit].name * KEYS.len() + self.subject.key
    }

    /// Returns its cells; those with settlement markers come last.
    pub(crate) fn place(&self, limits: &[NamedLimit]) -> CellRef {
        let place = CellRef::cell(self.cell(limits));
        self.remembered_in().map_or(place, |cell| place.remembered_in(cell))
    }

    /// Returns the cell of its settlement marker.
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

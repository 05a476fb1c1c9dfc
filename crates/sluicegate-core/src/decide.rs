//! Decides a set: all of its terms are admitted and charged, or nothing is.

mod takes;
mod transaction;

use self::takes::{decide_takes, has_own_cells};
use self::transaction::SetTransaction;
use crate::decision::Decision;
use crate::set::Set;
use crate::state::State;
use crate::time::Time;

/// The cells, among those passed to [`decide`], that a check works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellRef {
    cell: usize,
    settled: usize,
}

impl CellRef {
    /// Refers to the cell at this index.
    pub const fn cell(cell: usize) -> Self {
        Self { cell, settled: usize::MAX }
    }

    /// Adds the cell that stores the settlement marker of this check.
    ///
    /// Required where [`Check::settles`](crate::Check::settles) returns an id.
    #[must_use]
    pub const fn remembered_in(self, settled: usize) -> Self {
        Self { settled, ..self }
    }

    /// Returns the index of the cell that the check works on.
    pub const fn index(&self) -> usize {
        self.cell
    }
}

/// The outcome of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// All terms admitted, and charged.
    Admitted,
    /// A term refused, and nothing was charged (an independent set charged the others).
    Refused,
    /// A fixed window came with a period that does not contain `now`.
    ///
    /// Nothing was evaluated or charged: compute the period for this time and retry.
    Stale,
    /// One counter was addressed by two different limits.
    ///
    /// Nothing was evaluated or charged: give the limits different names.
    Contradictory,
}

/// Decides `set` at time `now`.
///
/// `cells` are the counters of the set and `places[i]` is the cell of `checks[i]`; checks with the
/// same limit name and key share a cell. `decisions[i]` becomes the decision on `checks[i]`, or
/// `None` for an alternative that was not needed.
///
/// # Panics
///
/// If `places` or `decisions` is shorter than the set, or a place lies outside `cells`.
#[inline]
pub fn decide(
    set: &Set<'_>,
    now: Time,
    places: &[CellRef],
    cells: &mut [State],
    decisions: &mut [Option<Decision>],
) -> Ruling {
    // Time saturates at the largest representable time.
    let now = now.min(Time::MAX);
    // A single take, the most common request, is compiled by itself: without loops.
    if let ([check], [place, ..]) = (set.checks, places)
        && check.limit().as_bucket().is_some()
    {
        let own = core::slice::from_mut(&mut cells[place.cell]);
        if let Some(ruling) = decide_takes::<true, _>(set, now, own, decisions) {
            return ruling;
        }
    }
    decide_set(set, now, places, cells, decisions)
}

/// Decides a set of takes on distinct buckets, from the buckets' times alone.
///
/// The answers are those of [`decide`], without [`State`] values. `full_at` holds when each bucket
/// will be full again (any time up to `now` if it is) and is updated, for stores that keep nothing
/// else of a bucket. `None`, with nothing changed but `decisions`, if the set contains anything
/// else; then call [`decide`]. A set of one check is computed in registers.
#[inline(always)]
#[allow(clippy::inline_always, reason = "in registers only if it is; see docs/benchmarks.md")]
pub fn decide_buckets(
    set: &Set<'_>,
    now: Time,
    full_at: &mut [Time],
    decisions: &mut [Option<Decision>],
) -> Option<Ruling> {
    if set.independent {
        return None;
    }
    decide_takes::<false, _>(set, now.min(Time::MAX), full_at, decisions)
}

#[inline(never)]
fn decide_set(
    set: &Set<'_>,
    now: Time,
    places: &[CellRef],
    cells: &mut [State],
    decisions: &mut [Option<Decision>],
) -> Ruling {
    let count = set.checks.len();
    let (places, decisions) = (&places[..count], &mut decisions[..count]);
    if has_own_cells(set, now, places)
        && let Some(cells) = cells.get_mut(..count)
        && let Some(ruling) = decide_takes::<false, _>(set, now, cells, decisions)
    {
        return ruling;
    }
    if set.checks.iter().any(|check| check.is_stale(now)) {
        decisions.fill(None);
        return Ruling::Stale;
    }
    let mut transaction = SetTransaction { set, now, places, cells, decisions };
    if transaction.is_contradictory() {
        transaction.decisions.fill(None);
        return Ruling::Contradictory;
    }
    transaction.rescale();
    if set.independent { transaction.decide_each() } else { transaction.decide(0..count) }
}

//! Decides a set: all of its terms are admitted and charged, or nothing is.

mod transaction;

use self::transaction::SetTransaction;
use crate::algorithm::EvalContext;
use crate::decision::Decision;
use crate::operation::Operation;
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
    if let ([check], [place, ..], [decision, ..]) = (set.checks, places, &mut *decisions)
        && let (Some(bucket), Some(take)) = (check.limit().as_bucket(), check.plain_take())
    {
        // A single bucket, the most common request, avoids the bookkeeping of other sets.
        let (state, context) = (&mut cells[place.cell], EvalContext { now, set, index: 0 });
        return bucket.take(state, &context, take, decision);
    }
    decide_set(set, now, places, cells, decisions)
}

/// The outcome of a take on one bucket, decided without a [`State`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SingleTake {
    /// Whether it was admitted.
    pub ruling: Ruling,
    /// The decision.
    pub decision: Decision,
    /// The time at which the bucket will now be full again.
    pub full_at: Time,
}

/// Decides a set that is one take on a bucket, from the bucket's time alone.
///
/// `full_at` is when the bucket will be full again (any time up to `now` if it is), for stores
/// that keep nothing else of a bucket. The answer is that of [`decide`], computed in registers.
/// `None` if the set, the bucket or its state needs more than that; then call [`decide`].
#[inline(always)]
#[allow(clippy::inline_always, reason = "in registers only if it is; see docs/benchmarks.md")]
pub fn decide_single(set: &Set<'_>, now: Time, full_at: Time) -> Option<SingleTake> {
    let now = now.min(Time::MAX);
    let [check] = set.checks else { return None };
    let (bucket, take) = (check.limit().as_bucket()?, check.plain_take()?);
    bucket.take_whole(full_at, &EvalContext { now, set, index: 0 }, take)
}

/// Decides a set of takes on distinct buckets, from the buckets' times alone.
///
/// The answers are those of [`decide`], without `State` values. `full_at` holds when each bucket
/// will be full again and is updated. `None`, with nothing changed but `decisions`, if the set
/// contains anything else; then call [`decide`].
#[inline]
pub fn decide_buckets(
    set: &Set<'_>,
    now: Time,
    full_at: &mut [Time],
    decisions: &mut [Option<Decision>],
) -> Option<Ruling> {
    let now = now.min(Time::MAX);
    if set.independent {
        return None;
    }
    let mut admitted = true;
    let all = set.checks.iter().zip(&*full_at).zip(&mut *decisions);
    for ((check, full_at), decision) in all {
        let (bucket, take) = (check.limit().as_bucket()?, check.plain_take()?);
        admitted &= bucket.evaluate_whole(*full_at, now, take, decision)?;
    }
    let all = set.checks.iter().zip(full_at).zip(decisions);
    for (index, ((check, full_at), decision)) in all.enumerate() {
        let (bucket, decision) = (check.limit().as_bucket()?, decision.as_mut()?);
        if admitted {
            let context = EvalContext { now, set, index };
            *full_at = bucket.charge_whole(*full_at, &context, decision);
        } else {
            bucket.update_usage_whole(*full_at, now, decision);
        }
    }
    Some(if admitted { Ruling::Admitted } else { Ruling::Refused })
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
    if is_plain(set, now, places)
        && let Some(cells) = cells.get_mut(..count)
    {
        return decide_plain(set, now, cells, decisions);
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

/// Returns whether this is the common case.
///
/// That is: required takes only, each on a counter of its own, laid out in order.
fn is_plain(set: &Set<'_>, now: Time, places: &[CellRef]) -> bool {
    let mut checks = set.checks.iter().zip(places).enumerate();
    !set.independent
        && checks.all(|(index, (check, place))| {
            place.cell == index && check.is_plain() && !check.is_stale(now)
        })
}

/// Decides a plain set without the bookkeeping of the general case.
///
/// The answers are those of [`SetTransaction::decide`].
fn decide_plain(
    set: &Set<'_>,
    now: Time,
    cells: &mut [State],
    decisions: &mut [Option<Decision>],
) -> Ruling {
    let mut admitted = true;
    let all = set.checks.iter().zip(&mut *cells).zip(&mut *decisions);
    for (index, ((check, state), decision)) in all.enumerate() {
        if let Operation::Take(take) = &check.operation {
            let context = EvalContext { now, set, index };
            admitted &= check.limit().evaluate_plain(state, &context, take, decision);
        }
    }
    let all = set.checks.iter().zip(cells).zip(decisions);
    if !admitted {
        for (index, ((check, state), decision)) in all.enumerate() {
            check.limit().update_usage_plain(state, &EvalContext { now, set, index }, decision);
        }
        return Ruling::Refused;
    }
    for (index, ((check, state), decision)) in all.enumerate() {
        if let Some(decision) = decision {
            check.limit().charge_plain(state, &EvalContext { now, set, index }, decision);
        }
    }
    Ruling::Admitted
}

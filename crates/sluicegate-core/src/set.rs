//! Decides a set: all of its terms are admitted and charged, or nothing is.

mod desk;

use self::desk::Desk;
use crate::algorithm::Scene;
use crate::ask::Ask;
use crate::check::Set;
use crate::decision::Decision;
use crate::state::State;
use crate::time::Time;

/// Which of the cells handed to [`decide`] a check works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    cell: usize,
    settled: usize,
}

impl Place {
    /// The check works on the cell at this index.
    pub const fn cell(cell: usize) -> Self {
        Self { cell, settled: usize::MAX }
    }

    /// What this check does once is remembered in the cell at that index; needed where
    /// [`Check::settles`](crate::Check::settles) names something.
    #[must_use]
    pub const fn remembered_in(self, settled: usize) -> Self {
        Self { settled, ..self }
    }

    /// The index of the cell that the check works on.
    pub const fn index(&self) -> usize {
        self.cell
    }
}

/// What became of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// All terms admitted, and charged.
    Admitted,
    /// A term refused, and nothing was charged (an independent set charged the others).
    Refused,
    /// A fixed window was handed a period that `now` does not lie in. Nothing was asked or
    /// charged: work out the period for this time and ask once more.
    Stale,
    /// One counter was asked under two different limits. Nothing was asked or charged: give
    /// the limits different names.
    Contradictory,
}

/// Decides `set` at time `now`.
///
/// `cells` are the counters the checks meet, `places[i]` says which one `checks[i]` does;
/// checks with the same limit name and key have the same cell. `decisions[i]` becomes the
/// answer to `checks[i]`, or `None` for an alternative that was not needed.
///
/// # Panics
///
/// If `places` or `decisions` is shorter than the set, or a place lies outside `cells`.
#[inline]
pub fn decide(
    set: &Set<'_>,
    now: Time,
    places: &[Place],
    cells: &mut [State],
    decisions: &mut [Option<Decision>],
) -> Ruling {
    // Beyond the last moment that can be told, time stands still.
    let now = now.min(Time::MAX);
    if let ([check], [place, ..], [decision, ..]) = (set.checks, places, &mut *decisions)
        && let (Some(bucket), Some(take)) = (check.limit().as_bucket(), check.plain_take())
    {
        // One bucket: what most requests owe, and the whole of what they should pay for.
        let (state, scene) = (&mut cells[place.cell], Scene { now, set, index: 0 });
        return bucket.take(state, &scene, take, decision);
    }
    decide_set(set, now, places, cells, decisions)
}

/// What became of a take on one bucket, decided without its state around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alone {
    /// Whether it was admitted.
    pub ruling: Ruling,
    /// The answer.
    pub decision: Decision,
    /// When the bucket will now be full again.
    pub full_at: Time,
}

/// Decides a set that is one take on a bucket, given when that will be full again (any time up
/// to `now` if it is): for stores that keep nothing else of a bucket. It answers as [`decide`]
/// does, in registers. `None` if there is more to the set, the bucket or its state than that;
/// then [`decide`] has to be asked.
#[inline(always)]
#[allow(clippy::inline_always, reason = "in registers only if it is; see docs/benchmarks.md")]
pub fn decide_alone(set: &Set<'_>, now: Time, full_at: Time) -> Option<Alone> {
    let now = now.min(Time::MAX);
    let [check] = set.checks else { return None };
    let (bucket, take) = (check.limit().as_bucket()?, check.plain_take()?);
    bucket.take_whole(full_at, &Scene { now, set, index: 0 }, take)
}

/// Decides a set whose checks are all takes on buckets, each on a counter of its own, given when
/// those will be full again: as [`decide`] does, without their states around them. `full_at`
/// becomes when they will now be. `None`, with nothing changed but `decisions`, if there is more
/// to the set than that; then [`decide`] has to be asked.
#[inline]
pub fn decide_together(
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
        admitted &= bucket.judge_whole(*full_at, now, take, decision)?;
    }
    let all = set.checks.iter().zip(full_at).zip(decisions);
    for (index, ((check, full_at), decision)) in all.enumerate() {
        let (bucket, decision) = (check.limit().as_bucket()?, decision.as_mut()?);
        if admitted {
            let scene = Scene { now, set, index };
            *full_at = bucket.charge_whole(*full_at, &scene, decision);
        } else {
            bucket.restate_whole(*full_at, now, decision);
        }
    }
    Some(if admitted { Ruling::Admitted } else { Ruling::Refused })
}

#[inline(never)]
fn decide_set(
    set: &Set<'_>,
    now: Time,
    places: &[Place],
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
    let mut desk = Desk { set, now, places, cells, decisions };
    if desk.is_contradictory() {
        desk.decisions.fill(None);
        return Ruling::Contradictory;
    }
    desk.rescale();
    if set.independent { desk.decide_each() } else { desk.decide(0..count) }
}

/// Whether this is what nearly every request owes: takes that all have to admit, each on a
/// counter of its own, laid out in order.
fn is_plain(set: &Set<'_>, now: Time, places: &[Place]) -> bool {
    let mut checks = set.checks.iter().zip(places).enumerate();
    !set.independent
        && checks.all(|(index, (check, place))| {
            place.cell == index && check.is_plain() && !check.is_stale(now)
        })
}

/// Decides a plain set without the bookkeeping that only others need. The answers are those
/// that [`Desk::decide`] would give.
fn decide_plain(
    set: &Set<'_>,
    now: Time,
    cells: &mut [State],
    decisions: &mut [Option<Decision>],
) -> Ruling {
    let mut admitted = true;
    let all = set.checks.iter().zip(&mut *cells).zip(&mut *decisions);
    for (index, ((check, state), decision)) in all.enumerate() {
        if let Ask::Take(take) = &check.ask {
            let scene = Scene { now, set, index };
            admitted &= check.limit().judge_plain(state, &scene, take, decision);
        }
    }
    let all = set.checks.iter().zip(cells).zip(decisions);
    if !admitted {
        for (index, ((check, state), decision)) in all.enumerate() {
            check.limit().restate_plain(state, &Scene { now, set, index }, decision);
        }
        return Ruling::Refused;
    }
    for (index, ((check, state), decision)) in all.enumerate() {
        if let Some(decision) = decision {
            check.limit().charge_plain(state, &Scene { now, set, index }, decision);
        }
    }
    Ruling::Admitted
}

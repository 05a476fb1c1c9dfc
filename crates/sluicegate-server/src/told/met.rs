//! The limits a request has met that callers are told about, the strictest first.

use std::cmp::Ordering;

use sluicegate::{Ask, Check, Decision, Gate, Verdict};

use super::{Told, is_unasked};

/// As many as a plan may have checks.
const MOST: usize = 64;

/// The places of checks in their plan, the strictest first. Kept without allocating: every request
/// has some.
pub(super) struct Met {
    places: [u8; MOST],
    count: usize,
}

/// One limit that was met.
pub(super) struct Item<'a> {
    pub(super) place: usize,
    pub(super) check: &'a Check<'a>,
    pub(super) decision: &'a Decision,
}

impl<'a> Told<'a> {
    /// Those that are told, in order.
    pub(super) fn met(&self) -> Met {
        let mut met = Met { places: [0; MOST], count: 0 };
        let Some((checks, verdict)) = self.asked else { return met };
        for (place, (check, decision)) in checks.iter().zip(verdict.decisions()).enumerate() {
            let told =
                decision.as_ref().is_some_and(|made| self.tells(place, check, made, verdict));
            if let (true, Ok(place)) = (told, u8::try_from(place)) {
                met.insert(place, |one, other| order(verdict, one, other));
            }
        }
        let digest = |place: u8| checks.get(usize::from(place)).map(|it| it.limit().name_digest());
        met.keep_first(|one, other| digest(one) == digest(other));
        met
    }

    /// What is met at a place.
    pub(super) fn item(&self, place: u8) -> Option<Item<'a>> {
        let (checks, verdict) = self.asked?;
        let place = usize::from(place);
        let (check, decision) = (checks.get(place)?, verdict.decisions().get(place)?);
        Some(Item { place, check, decision: decision.as_ref()? })
    }

    /// Whether the caller is told how it stands with a limit.
    fn tells(&self, place: usize, check: &Check<'_>, made: &Decision, verdict: &Verdict) -> bool {
        // A shadow is in nobody's way: how it stands is the operator's business alone.
        check.gate() == Gate::Enforce
            && !matches!(check.asks(), Ask::Rescale { .. })
            && !is_unasked(check, verdict)
            && self.rule(place).is_none_or(sluicegate_rules::Rule::is_told)
            // Failures are no requests, and nobody who guesses passwords is told how many guesses
            // are left.
            && !(made.is_allowed() && is_cooldown(check))
    }
}

/// Whether a check asks about failures.
pub(super) fn is_cooldown(check: &Check<'_>) -> bool {
    check.limit().algorithm() == "cooldown"
}

impl Met {
    pub(super) fn places(&self) -> impl Iterator<Item = u8> {
        self.places.iter().take(self.count).copied()
    }

    /// Of those that are the same, keeps the strictest: a request that is several in one may ask a limit
    /// for several callers.
    fn keep_first(&mut self, same: impl Fn(u8, u8) -> bool) {
        let mut kept = 1;
        for index in 1..self.count {
            let Some(place) = self.places.get(index).copied() else { return };
            let known = self.places().take(kept).any(|earlier| same(earlier, place));
            if let Some(free) = self.places.get_mut(kept).filter(|_| !known) {
                *free = place;
                kept += 1;
            }
        }
        self.count = self.count.min(kept);
    }

    /// Puts a place where it belongs among those before it; behind its equals.
    fn insert(&mut self, place: u8, order: impl Fn(u8, u8) -> Ordering) {
        let before = self.places().take_while(|other| order(*other, place).is_le()).count();
        self.count = (self.count + 1).min(MOST);
        if let Some(behind) = self.places.get_mut(before..self.count) {
            behind.rotate_right(1);
            if let Some(first) = behind.first_mut() {
                *first = place;
            }
        }
    }
}

/// First what says most about the verdict; then what refuses; then the smallest share left.
fn order(verdict: &Verdict, one: u8, other: u8) -> Ordering {
    let (one, other) = (usize::from(one), usize::from(other));
    let says_most = verdict.strictest().map(|strictest| strictest.check);
    let decision = |place: usize| verdict.decisions().get(place).and_then(Option::as_ref);
    let (Some(mine), Some(theirs)) = (decision(one), decision(other)) else {
        return Ordering::Equal;
    };
    let share =
        |this: &Decision, that: &Decision| u128::from(this.remaining()) * u128::from(that.limit());
    (says_most == Some(other))
        .cmp(&(says_most == Some(one)))
        .then(mine.is_allowed().cmp(&theirs.is_allowed()))
        .then(share(mine, theirs).cmp(&share(theirs, mine)))
}

//! A few counters, their limits, and the time.

use sluicegate_core::{
    CellRef, ChargeId, Check, Decision, Operation, Ruling, Set, Span, State, Time, decide,
};

use crate::bytes::Bytes;
use crate::fuzzed_check::{CELLS, CHANGES, FuzzedCheck, IssuedReceipt, NAMES};
use crate::invariants;
use crate::limits::{self, NamedLimit};

/// 2026-01-01T00:00:00Z.
const START: Time = Time::from_micros(1_767_225_600_000_000);
const MOST_LIMITS: usize = 4;
const MOST_CHECKS: usize = 4;
const MOST_RECEIPTS: usize = 32;

/// The state on which a sequence of sets is decided.
#[derive(Debug)]
pub struct Counters {
    limits: Vec<NamedLimit>,
    /// The cells of limits, then one for each change of tier and each settlement.
    cells: Vec<State>,
    /// The last reader of each limit's cell; `None` where several limits of one set read it.
    readers: [Option<LastReader>; CELLS],
    /// The initial states were not written by these limits.
    foreign_start: bool,
    receipts: Vec<IssuedReceipt>,
    now: Time,
    /// The last time named by a decision.
    span: Span,
    sets: u128,
}

/// A reading of a counter. The state after it is not from a wrong clock for another reading by the
/// same limit, at the same time or later.
#[derive(Debug, Clone, Copy)]
struct LastReader {
    limit: usize,
    at: Time,
}

impl Counters {
    /// Reads vacant counters and limits from the input; `None` if it contains no limit.
    pub fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        let count = bytes.choice(MOST_LIMITS) + 1;
        let limits: Vec<_> = (0..count)
            .filter_map(|_| {
                let name = bytes.choice(NAMES.len());
                Some(NamedLimit { limit: limits::limit(bytes, NAMES[name])?, name })
            })
            .collect();
        (!limits.is_empty()).then(|| Self {
            limits,
            cells: vec![State::Vacant; CELLS + CHANGES + MOST_RECEIPTS],
            readers: [None; CELLS],
            foreign_start: false,
            receipts: Vec::new(),
            now: START,
            span: Span::ZERO,
            sets: 0,
        })
    }

    /// Sets the initial state of every counter, as if it had been read from a file.
    pub fn put(&mut self, state: &State) {
        self.cells.fill(state.clone());
        self.foreign_start = true;
    }

    /// Returns the states of all counters.
    pub fn states(&self) -> &[State] {
        &self.cells
    }

    /// Moves the clock, decides one set, and asserts the guarantees of its decisions.
    pub fn step(&mut self, bytes: &mut Bytes<'_>) {
        self.move_clock(bytes);
        let shape = bytes.byte();
        let count = usize::from(shape) % MOST_CHECKS + 1;
        let checks: Vec<_> =
            (0..count).map(|_| FuzzedCheck::read(bytes, &self.limits, &self.receipts)).collect();
        let independent = shape >= 224;

        let before = self.cells.clone();
        let (ruling, decisions) = self.decide(&checks, independent);
        invariants::assert_numbers(&self.limits, &checks, ruling, &decisions);
        let undone = matches!(ruling, Ruling::Stale | Ruling::Contradictory);
        if undone || (ruling == Ruling::Refused && !independent) {
            invariants::assert_nothing_granted(&decisions);
            self.assert_unchanged(&checks, &before);
        }
        if let ([check], [Some(decision)]) = (&checks[..], &decisions[..]) {
            self.assert_retry(check, decision);
        }
        self.remember(&checks, &decisions);
    }

    fn move_clock(&mut self, bytes: &mut Bytes<'_>) {
        let now = self.now.as_micros();
        let micros = match bytes.byte() % 8 {
            0 | 1 => now,
            2 => now + u64::from(bytes.byte()),
            3 => now + bytes.number(Time::MAX.as_micros()),
            4 => now.saturating_sub(bytes.number(Time::MAX.as_micros())),
            5 => bytes.number(Time::MAX.as_micros()),
            6 => now.saturating_add(self.span.as_micros()),
            _ => now.saturating_add(self.span.as_micros()).saturating_sub(1),
        };
        self.now = Time::from_micros(micros);
    }

    fn decide(
        &mut self,
        checks: &[FuzzedCheck],
        independent: bool,
    ) -> (Ruling, Vec<Option<Decision>>) {
        let places: Vec<CellRef> = checks.iter().map(|check| check.place(&self.limits)).collect();
        let checks: Vec<Check<'_>> =
            checks.iter().map(|check| check.check(&self.limits, self.now)).collect();
        self.sets += 1;
        // Room for the ids of its checks.
        let id = ChargeId::from_bits(self.sets << 8);
        let set = if independent { Set::independent(&checks, id) } else { Set::all(&checks, id) };
        let mut decisions = vec![None; checks.len()];
        let ruling = decide(&set, self.now, &places, &mut self.cells, &mut decisions);
        (ruling, decisions)
    }

    /// Asserts that a refused set has changed nothing except repairs and rescales.
    ///
    /// State that the clock or the limit cannot have written is repaired even if the set is
    /// refused, and so is state that the set declares to be written under another quota.
    fn assert_unchanged(&self, checks: &[FuzzedCheck], before: &[State]) {
        for (cell, (before, after)) in before.iter().zip(&self.cells).enumerate() {
            let mut met = checks.iter().filter(|check| check.cell(&self.limits) == cell);
            let rescaled = checks.iter().filter(|check| check.rescales()).any(|check| {
                check.cell(&self.limits) == cell || check.remembered_in() == Some(cell)
            });
            let mendable = rescaled
                || met.any(|check| {
                    let set_back = self.readers[cell].is_some_and(|reader| reader.at > self.now);
                    let foreign = self.is_foreign(check) || self.is_another_calendar(check);
                    *before != State::Vacant && (set_back || foreign)
                });
            assert!(
                mendable || before == after,
                "a refused set changed {before:?} to {after:?} at {:?}: {checks:?} of {:?}",
                self.now,
                self.limits,
            );
        }
    }

    /// Returns whether the counter may have the layout of another limit.
    fn is_foreign(&self, check: &FuzzedCheck) -> bool {
        let reader = self.readers[check.cell(&self.limits)];
        reader.is_none_or(|reader| reader.limit != check.subject.limit)
    }

    /// Returns whether another calendar may have set the counter's window.
    ///
    /// One that had not begun when it was read last is left as it was until it has begun.
    fn is_another_calendar(&self, check: &FuzzedCheck) -> bool {
        let named = &self.limits[check.subject.limit];
        let sharers = self.limits.iter().filter(|other| other.name == named.name).count();
        named.limit.calendar().is_some() && (sharers > 1 || self.foreign_start)
    }

    /// Asserts that a retry after the given time succeeds; a microsecond earlier it does not.
    fn assert_retry(&self, check: &FuzzedCheck, decision: &Decision) {
        let Some(retry_after) = decision.retry_after() else { return };
        let then = self.now + retry_after;
        // Time saturates there.
        if then > Time::MAX || !matches!(check.operation, Operation::Take(_)) {
            return;
        }
        let limit = &self.limits[check.subject.limit].limit;
        let state = &self.cells[check.cell(&self.limits)];
        assert!(
            self.is_allowed_at(then, check),
            "refused again at {then:?} after {decision:?} of {limit:?} for {check:?} on {state:?}",
        );
        if retry_after > Span::from_micros(1) {
            let early = Time::from_micros(then.as_micros() - 1);
            assert!(
                !self.is_allowed_at(early, check),
                "allowed early, at {early:?}, after {decision:?} of {limit:?} for {check:?} on {state:?}",
            );
        }
    }

    /// Returns whether the same would be allowed at another time if nothing happened until then.
    fn is_allowed_at(&self, time: Time, check: &FuzzedCheck) -> bool {
        let place = check.place(&self.limits);
        let check = check.check(&self.limits, time);
        let set = Set::one(&check, ChargeId::from_bits(u128::MAX << 8));
        let (mut cells, mut decisions) = (self.cells.clone(), [None]);
        decide(&set, time, &[place], &mut cells, &mut decisions);
        decisions[0].is_some_and(|decision| decision.is_allowed())
    }

    fn remember(&mut self, all: &[FuzzedCheck], decisions: &[Option<Decision>]) {
        for (check, decision) in all.iter().zip(decisions) {
            let Some(decision) = decision else { continue };
            let subject = check.subject;
            let cell = check.cell(&self.limits);
            let alone = all
                .iter()
                .filter(|other| other.cell(&self.limits) == cell)
                .all(|other| other.subject == subject);
            self.readers[cell] = alone.then_some(LastReader { limit: subject.limit, at: self.now });
            self.span = decision.retry_after().unwrap_or(decision.reset_after());
            if let Some(receipt) = decision.receipt()
                && self.receipts.len() < MOST_RECEIPTS
            {
                self.receipts.push(IssuedReceipt { receipt: *receipt, subject });
            }
        }
    }
}

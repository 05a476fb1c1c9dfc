//! The script of a thread, generated beforehand so that its calls follow each other closely.

use sluicegate::{Check, Cost, Operation, Receipt, Span};

use super::pool::Pool;
use sluicegate_testkit::Rng;

/// One operation of a thread, and its action before it.
#[derive(Debug)]
pub(super) struct ScriptedCall<'a> {
    pub(super) before: PrecedingAction,
    pub(super) independent: bool,
    parts: Vec<ScriptedCheck<'a>>,
}

/// The action of a thread before a call.
#[derive(Debug, Clone, Copy)]
pub(super) enum PrecedingAction {
    Nothing,
    /// Lets another thread run first.
    Yield,
    /// Advances the clock, also during the calls of other threads.
    Advance(Span),
}

/// A check; or, if there is a receipt by then, an operation on that.
#[derive(Debug, Clone, Copy)]
struct ScriptedCheck<'a> {
    check: Check<'a>,
    later: Option<ReceiptOperation>,
}

/// An operation on a receipt.
#[derive(Debug, Clone, Copy)]
struct ReceiptOperation {
    /// Its index, counted back from the newest.
    back: usize,
    /// Renew it if it is a hold.
    renew: bool,
    /// Settle it to this cost otherwise.
    actual: Cost,
}

/// A receipt, and the check that it was given for.
pub(super) type IssuedReceipt<'a> = (Check<'a>, Receipt);

/// The turns of one thread.
pub(super) fn turns<'a>(pool: &Pool<'a>, rng: &mut Rng) -> Vec<ScriptedCall<'a>> {
    (0..(3 + rng.index(3))).map(|_| ScriptedCall::new(pool, rng)).collect()
}

impl<'a> ScriptedCall<'a> {
    fn new(pool: &Pool<'a>, rng: &mut Rng) -> Self {
        let count = if rng.one_in(3) { 1 } else { 2 + rng.index(3) };
        let mut parts: Vec<ScriptedCheck<'a>> = Vec::with_capacity(count);
        for _ in 0..count {
            let last = parts.last().map(|part| part.check);
            parts.push(ScriptedCheck::new(pool, last, rng));
        }
        Self { before: PrecedingAction::new(rng), independent: count > 1 && rng.one_in(5), parts }
    }

    /// Returns the checks of this turn, given the receipts so far.
    pub(super) fn checks(&self, kept: &[IssuedReceipt<'a>]) -> Vec<Check<'a>> {
        self.parts.iter().map(|part| part.check(kept)).collect()
    }
}

impl PrecedingAction {
    fn new(rng: &mut Rng) -> Self {
        match rng.index(12) {
            0..7 => Self::Nothing,
            7..9 => Self::Yield,
            9 => Self::Advance(Span::from_micros(1)),
            10 => Self::Advance(Span::from_millis(100)),
            _ => Self::Advance(shorter_than(rng, Span::from_millis(600))),
        }
    }
}

impl<'a> ScriptedCheck<'a> {
    fn new(pool: &Pool<'a>, last: Option<Check<'a>>, rng: &mut Rng) -> Self {
        let mut check = match last {
            // The same counter twice in one set.
            Some(last) if rng.one_in(4) => last,
            _ => pool.check(rng),
        };
        check = bare(&check).with_operation(random_operation(pool, &check, rng));
        if last.is_some() && rng.one_in(4) {
            check = check.or_else();
        }
        let later = rng.one_in(4).then(|| ReceiptOperation {
            back: rng.index(3),
            renew: rng.one_in(2),
            actual: if rng.one_in(2) { Cost::ZERO } else { units(rng) },
        });
        Self { check, later }
    }

    fn check(&self, kept: &[IssuedReceipt<'a>]) -> Check<'a> {
        let Some(later) = self.later else { return self.check };
        let Some((check, receipt)) = kept.iter().nth_back(later.back) else { return self.check };
        let mut check = bare(check).with_operation(if later.renew && check.limit().holds() {
            Operation::Renew(*receipt)
        } else {
            Operation::Settle { receipt: *receipt, actual: later.actual }
        });
        if self.check.is_alternative() {
            check = check.or_else();
        }
        check
    }
}

/// Returns a plain check of the same counter.
fn bare<'a>(check: &Check<'a>) -> Check<'a> {
    let plain = Check::new(check.limit(), check.key());
    check.period().map_or(plain, |period| plain.within(period))
}

fn random_operation(pool: &Pool<'_>, check: &Check<'_>, rng: &mut Rng) -> Operation {
    match rng.index(25) {
        0..8 => Operation::acquire(units(rng)),
        8..11 => Operation::up_to(units(rng), Cost::ONE),
        11..13 => Operation::wait(units(rng), shorter_than(rng, Span::from_millis(500))),
        13..16 => Operation::Charge(units(rng)),
        16..19 => Operation::peek(),
        19..22 => pool.rescale(check, rng),
        22..24 => Operation::Refund(units(rng)),
        _ => Operation::Reset,
    }
}

fn units(rng: &mut Rng) -> Cost {
    *rng.pick(&[Cost::ONE, Cost::ONE, Cost::from(2), Cost::from(3)])
}

/// A span shorter than this one.
fn shorter_than(rng: &mut Rng, span: Span) -> Span {
    Span::from_micros(rng.below(span.as_micros()))
}

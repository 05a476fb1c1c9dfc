//! What one thread is going to do, drawn beforehand so that no time is lost between its calls.

use sluicegate::{Ask, Check, Cost, Gate, Receipt, Span};

use super::dice::Dice;
use super::pool::Pool;

/// One operation of a thread, and what it does just before.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) before: Before,
    pub(super) independent: bool,
    parts: Vec<Part<'a>>,
}

/// What a thread does before it asks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Before {
    Nothing,
    /// Lets another thread go first.
    Yield,
    /// Moves the clock on, also for those who are being answered at this moment.
    Advance(Span),
}

/// A check to be made; or, if there is a receipt by then, something to be done with that.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    check: Check<'a>,
    later: Option<Later>,
}

/// What to do with a receipt.
#[derive(Debug, Clone, Copy)]
struct Later {
    /// Which one, counted back from the newest.
    back: usize,
    /// Renew it if it is a hold.
    renew: bool,
    /// Settle it to this cost otherwise.
    actual: Cost,
}

/// A receipt, and the check that it was given for.
pub(super) type Kept<'a> = (Check<'a>, Receipt);

/// The turns of one thread.
pub(super) fn turns<'a>(pool: &Pool<'a>, dice: &mut Dice) -> Vec<Turn<'a>> {
    (0..dice.between(3, 5)).map(|_| Turn::new(pool, dice)).collect()
}

impl<'a> Turn<'a> {
    fn new(pool: &Pool<'a>, dice: &mut Dice) -> Self {
        let count = if dice.one_in(3) { 1 } else { dice.between(2, 4) };
        let mut parts: Vec<Part<'a>> = Vec::with_capacity(count);
        for _ in 0..count {
            let last = parts.last().map(|part| part.check);
            parts.push(Part::new(pool, last, dice));
        }
        Self { before: Before::new(dice), independent: count > 1 && dice.one_in(5), parts }
    }

    /// The checks of this turn, given the receipts there are by now.
    pub(super) fn checks(&self, kept: &[Kept<'a>]) -> Vec<Check<'a>> {
        self.parts.iter().map(|part| part.check(kept)).collect()
    }
}

impl Before {
    fn new(dice: &mut Dice) -> Self {
        match dice.below(12) {
            0..7 => Self::Nothing,
            7..9 => Self::Yield,
            9 => Self::Advance(Span::from_micros(1)),
            10 => Self::Advance(Span::from_millis(100)),
            _ => Self::Advance(dice.shorter_than(Span::from_millis(600))),
        }
    }
}

impl<'a> Part<'a> {
    fn new(pool: &Pool<'a>, last: Option<Check<'a>>, dice: &mut Dice) -> Self {
        let mut check = match last {
            // The same counter twice in one set.
            Some(last) if dice.one_in(4) => last,
            _ => pool.check(dice),
        };
        check = bare(&check).ask(ask(pool, &check, dice));
        if dice.one_in(6) {
            check = check.observed();
        }
        if last.is_some() && dice.one_in(4) {
            check = check.or_else();
        }
        let later = dice.one_in(4).then(|| Later {
            back: dice.below(3),
            renew: dice.one_in(2),
            actual: if dice.one_in(2) { Cost::ZERO } else { units(dice) },
        });
        Self { check, later }
    }

    fn check(&self, kept: &[Kept<'a>]) -> Check<'a> {
        let Some(later) = self.later else { return self.check };
        let Some((check, receipt)) = kept.iter().nth_back(later.back) else { return self.check };
        let mut check = bare(check).ask(if later.renew && check.limit().holds() {
            Ask::Renew(*receipt)
        } else {
            Ask::Settle { receipt: *receipt, actual: later.actual }
        });
        if self.check.gate() == Gate::Observe {
            check = check.observed();
        }
        if self.check.is_alternative() {
            check = check.or_else();
        }
        check
    }
}

/// The same counter, checked in the plainest way.
fn bare<'a>(check: &Check<'a>) -> Check<'a> {
    let plain = Check::new(check.limit(), check.key());
    check.period().map_or(plain, |period| plain.within(period))
}

fn ask(pool: &Pool<'_>, check: &Check<'_>, dice: &mut Dice) -> Ask {
    match dice.below(25) {
        0..8 => Ask::acquire(units(dice)),
        8..11 => Ask::up_to(units(dice), Cost::ONE),
        11..13 => Ask::wait(units(dice), dice.shorter_than(Span::from_millis(500))),
        13..16 => Ask::Charge(units(dice)),
        16..19 => Ask::peek(),
        19..22 => pool.rescale(check, dice),
        22..24 => Ask::Refund(units(dice)),
        _ => Ask::Reset,
    }
}

fn units(dice: &mut Dice) -> Cost {
    *dice.pick(&[Cost::ONE, Cost::ONE, Cost::from(2), Cost::from(3)])
}

//! The sliding window counter: counts per block, the oldest block weighted by its overlap.
//!
//! The window is cut into `slices` blocks. All blocks inside the window count in full; the block
//! that is just leaving counts by the share still inside. Shares are measured in ticks, the finest
//! power of ten microseconds in which every product stays exact. `strict` is the same with a
//! single tick per block, so that the oldest block counts in full until it is gone.
//!
//! ```text
//! elapsed  = whole ticks since the current block began      ticks = ticks in a block
//! weight   = (blocks inside) * ticks + oldest * (ticks - elapsed)
//! allowed  <=>  weight + (already + cost) * ticks <= amount * ticks
//! ```
//!
//! `10/min` in one slice, 8 used in the minute from 0 to 60 s, none since:
//!
//! | now | overlap of the old minute | estimate | cost | answer | retry after |
//! |---|---|---|---|---|---|
//! | 60 s | 100 % | 8 | 3 | refused | 7.5 s |
//! | 67.5 s | 87.5 % | 7 | 3 | allowed | |
//! | 67.5 s | 87.5 % | 7 + 3 | 1 | refused | 7.5 s |
//! | 75 s | 75 % | 6 + 3 | 1 | allowed | |
//! | 120 s | 0 % | 4 | 6 | allowed | |

use crate::algorithm::{EXHAUSTED, EvalContext, Evaluator, Usage, share};
use crate::decision::{Decision, Refusal};
use crate::exact_time::ExactTime;
use crate::limit::Parameters;
use crate::operation::Take;
use crate::receipt::Receipt;
use crate::state::{Blocks, State};
use crate::time::{Span, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlidingWindow {
    amount: u64,
    /// The number of blocks inside the window.
    slices: usize,
    /// The length of a block in microseconds.
    block: u64,
    /// The length of a tick in microseconds.
    tick: u64,
    /// The limit of unconditional charges.
    deepest: u64,
}

/// The counts of a cell relative to the current block.
struct View<'a> {
    counts: &'a [u64],
    /// The number of blocks between the newest count and the current block.
    shift: usize,
    /// The index of the current block.
    current: u64,
    /// The whole ticks since it began.
    elapsed: u64,
}

impl View<'_> {
    /// Returns the units counted `back` blocks before the current one.
    fn count(&self, back: usize) -> u64 {
        back.checked_sub(self.shift).and_then(|i| self.counts.get(i)).copied().unwrap_or(0)
    }
}

impl SlidingWindow {
    /// Creates a window; the caller guarantees that `slices` divides it and that `tick` fits.
    pub(crate) fn new(amount: u64, window: Span, slices: u32, tick: u64) -> Self {
        let block = window.as_micros() / u64::from(slices);
        Self { amount, slices: slices as usize, block, tick, deepest: amount * 2 }
    }

    /// Returns the finest power of ten that divides a block and keeps products exact.
    pub(crate) fn finest_tick(amount: u64, block: u64) -> Option<u64> {
        core::iter::successors(Some(1_u64), |tick| tick.checked_mul(10))
            .take_while(|tick| block.is_multiple_of(*tick))
            .find(|tick| amount.checked_mul(block / tick).is_some_and(|p| p <= Self::MAX_PRODUCT))
    }

    /// The largest product of amount and ticks; leaves room for three windows' worth of counts.
    pub(crate) const MAX_PRODUCT: u64 = 1 << 50;

    pub(crate) fn without_debt(self) -> Self {
        Self { deepest: self.amount, ..self }
    }

    pub(crate) const fn amount(&self) -> u64 {
        self.amount
    }

    /// Returns the same window with a smaller amount, and without debt.
    pub(crate) fn holding(&self, amount: u64) -> Self {
        Self { amount, deepest: amount, ..self.clone() }
    }

    pub(crate) fn window(&self) -> Span {
        Span::from_micros(self.block * self.slices as u64)
    }

    pub(crate) fn figures(&self) -> Parameters {
        Parameters::SlidingWindow {
            amount: self.amount,
            slices: self.slices as u64,
            block: Span::from_micros(self.block),
            tick: Span::from_micros(self.tick),
            deepest: self.deepest,
        }
    }

    fn ticks(&self) -> u64 {
        self.block / self.tick
    }

    fn is_laid_out(&self, blocks: &Blocks) -> bool {
        blocks.length == self.block && blocks.counts.len() == self.slices + 1
    }

    fn empty(&self) -> Blocks {
        let counts = vec![0; self.slices + 1].into_boxed_slice();
        Blocks { length: self.block, newest: 0, counts }
    }

    /// Moves each count to the new block that contains the latest time it can be from.
    fn convert_blocks(&self, old: &Blocks, now: Time) -> Blocks {
        let mut new = self.empty();
        let oldest = (now.as_micros() / self.block).saturating_sub(self.slices as u64);
        // From the oldest on, so that blocks only ever move forward.
        for (back, count) in old.counts.iter().enumerate().rev().filter(|(_, count)| **count > 0) {
            let start = old.newest.saturating_sub(back as u64) * old.length;
            let latest = (start + old.length - 1).min(now.as_micros().max(start));
            let index = latest / self.block;
            if index >= oldest {
                Self::advance(&mut new, index);
                new.counts[0] += count;
            }
        }
        new
    }

    /// Makes `index` the newest block and drops the counts that leave the window.
    fn advance(blocks: &mut Blocks, index: u64) {
        let shift = usize::try_from(index.saturating_sub(blocks.newest)).unwrap_or(usize::MAX);
        if shift == 0 {
            return;
        }
        let kept = blocks.counts.len().saturating_sub(shift);
        let length = blocks.counts.len();
        blocks.counts.copy_within(..kept, length - kept);
        blocks.counts[..length - kept].fill(0);
        blocks.newest = index;
    }

    /// Drops empty leading blocks after a refund.
    ///
    /// The newest block must have a nonzero count, because it records how far time has advanced on
    /// this counter.
    fn step_back(state: &mut State) {
        let State::Blocks(blocks) = state else { return };
        match blocks.counts.iter().position(|count| *count > 0) {
            Some(empty) => {
                blocks.counts.rotate_left(empty);
                blocks.newest -= empty as u64;
            }
            None => *state = State::Vacant,
        }
    }

    fn view<'a>(&self, state: &'a State, now: Time) -> View<'a> {
        let (newest, counts): (u64, &[u64]) = match state {
            State::Blocks(blocks) => (blocks.newest, &blocks.counts),
            _ => (0, &[]),
        };
        // Once a block has begun, time does not go back before it.
        let micros = now.as_micros().max(newest * self.block);
        let current = micros / self.block;
        View {
            counts,
            shift: usize::try_from(current - newest).unwrap_or(usize::MAX),
            current,
            elapsed: (micros - current * self.block) / self.tick,
        }
    }

    /// Returns the weighted sum of the counts, in units times ticks.
    fn weight(&self, view: &View) -> u128 {
        let inside: u64 = (0..self.slices).map(|back| view.count(back)).sum();
        let oldest = view.count(self.slices);
        u128::from(inside) * u128::from(self.ticks())
            + u128::from(oldest) * u128::from(self.ticks() - view.elapsed)
    }

    /// Returns the whole units that fit under `ceiling` on top of this weight.
    fn remaining_below(&self, weight: u128, ceiling: u64) -> u64 {
        let free = (u128::from(ceiling) * u128::from(self.ticks())).saturating_sub(weight);
        u64::try_from(free / u128::from(self.ticks())).unwrap_or(u64::MAX)
    }

    /// Returns the used share; the blocks must have this window's layout.
    fn share_of(&self, state: &State, now: Time) -> u16 {
        let weight = self.weight(&self.view(state, now));
        if self.remaining_below(weight, self.amount) == 0 {
            return EXHAUSTED;
        }
        share(weight, u128::from(self.amount) * u128::from(self.ticks()))
    }

    /// Returns whether another algorithm or a clock since set back wrote the state.
    fn is_wrong(state: &State, now: Time) -> bool {
        match state {
            State::Vacant => false,
            State::Blocks(blocks) => {
                let start = Time::computed(blocks.newest * blocks.length);
                start > now + Span::CLOCK_SLACK
            }
            _ => true,
        }
    }

    fn usage(&self, view: &View, weight: u128, staged: u64, now: Time) -> Usage {
        let newest =
            if staged > 0 { Some(0) } else { (0..=self.slices).find(|back| view.count(*back) > 0) };
        let reset_after = newest.map_or(Span::ZERO, |back| {
            let gone = (view.current + self.slices as u64 + 1 - back as u64) * self.block;
            Time::computed(gone).since(now)
        });
        let staged = u128::from(staged) * u128::from(self.ticks());
        Usage {
            limit: self.amount,
            remaining: self.remaining_below(weight + staged, self.amount),
            reset_after,
        }
    }

    /// Returns the time until `asked` units fit, if nothing else is charged.
    fn wait_for(&self, view: &View, asked: u64, now: Time) -> Span {
        let mut inside: u64 = (0..self.slices).map(|back| view.count(back)).sum();
        let (mut ahead, mut oldest) = (0, view.count(self.slices));
        // Find the first block by whose end enough units have left the window.
        while inside + asked > self.amount {
            ahead += 1;
            oldest = view.count(self.slices - ahead);
            inside -= oldest;
        }
        // Within it, the oldest count shrinks tick by tick.
        let excess = (inside + oldest + asked).saturating_sub(self.amount);
        let ticks =
            (u128::from(excess) * u128::from(self.ticks())).div_ceil(u128::from(oldest.max(1)));
        let ticks = u64::try_from(ticks).unwrap_or(u64::MAX);
        let then = (view.current + ahead as u64) * self.block + ticks * self.tick;
        Time::computed(then).since(now)
    }
}

impl Evaluator for SlidingWindow {
    fn capacity(&self) -> u64 {
        self.amount
    }

    fn repair(&self, state: &mut State, context: &EvalContext<'_>) {
        if Self::is_wrong(state, context.now) {
            *state = State::Vacant;
            self.charge(state, context, self.amount);
        }
        // Blocks with the layout of an earlier quota are converted once: converted on every read,
        // counts in a block that has not ended would move on each time.
        if let State::Blocks(blocks) = state
            && !self.is_laid_out(blocks)
        {
            **blocks = self.convert_blocks(blocks, context.now);
            if blocks.counts.iter().all(|count| *count == 0) {
                *state = State::Vacant;
            }
        }
    }

    fn evaluate(
        &self,
        state: &State,
        context: &EvalContext<'_>,
        take: Take,
        already: u64,
    ) -> Decision {
        let view = self.view(state, context.now);
        let weight = self.weight(&view);
        let asked = take.least.saturating_add(already);
        if asked > self.amount {
            let usage = self.usage(&view, weight, already, context.now);
            return usage.refused(Refusal::CostAboveLimit);
        }
        let scale = u128::from(self.ticks());
        if weight + u128::from(asked) * scale > u128::from(self.amount) * scale {
            let retry_after = self.wait_for(&view, asked, context.now);
            let usage = self.usage(&view, weight, already, context.now);
            return usage.refused(Refusal::Exhausted { retry_after });
        }
        let granted = take.most.min(self.remaining_below(weight, self.amount) - already);
        self.usage(&view, weight, already + granted, context.now).allowed(granted, Span::ZERO)
    }

    fn chargeable(&self, state: &State, context: &EvalContext<'_>, units: u64) -> u64 {
        let view = self.view(state, context.now);
        self.remaining_below(self.weight(&view), self.deepest).min(units)
    }

    fn charge(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> Option<Receipt> {
        if !matches!(state, State::Blocks(_)) {
            *state = State::Blocks(Box::new(self.empty()));
        }
        let State::Blocks(blocks) = state else { return None };
        Self::advance(blocks, context.now.as_micros() / self.block);
        blocks.counts[0] += units;
        let start = Time::computed(blocks.newest * self.block);
        let gone = Time::computed((blocks.newest + self.slices as u64 + 1) * self.block);
        Some(Receipt {
            id: context.id(),
            units,
            at: context.now.max(start),
            until: ExactTime::at(gone),
            until_parts: 1,
        })
    }

    fn refund_receipt(
        &self,
        state: &mut State,
        _: &EvalContext<'_>,
        receipt: &Receipt,
        units: u64,
    ) -> u64 {
        let State::Blocks(blocks) = state else { return 0 };
        let index = receipt.at.as_micros() / blocks.length;
        let back = blocks.newest.checked_sub(index).and_then(|back| usize::try_from(back).ok());
        let Some(count) = back.and_then(|back| blocks.counts.get_mut(back)) else { return 0 };
        let given = units.min(*count);
        *count -= given;
        Self::step_back(state);
        given
    }

    fn refund(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> u64 {
        let shift = self.view(state, context.now).shift;
        let State::Blocks(blocks) = state else { return 0 };
        // From the newest on, as far as they lie in the window.
        let inside = (self.slices + 1).saturating_sub(shift);
        let mut left = units;
        for count in blocks.counts.iter_mut().take(inside) {
            let given = left.min(*count);
            *count -= given;
            left -= given;
        }
        if left < units {
            Self::step_back(state);
        }
        units - left
    }

    fn recovered_at(&self, state: &State) -> Time {
        match state {
            State::Blocks(blocks) => {
                Time::computed((blocks.newest + blocks.counts.len() as u64) * blocks.length)
            }
            _ => Time::EPOCH,
        }
    }

    fn share_used(&self, state: &State, now: Time) -> u16 {
        if Self::is_wrong(state, now) {
            return EXHAUSTED;
        }
        match state {
            State::Blocks(blocks) if !self.is_laid_out(blocks) => {
                self.share_of(&State::Blocks(Box::new(self.convert_blocks(blocks, now))), now)
            }
            state => self.share_of(state, now),
        }
    }
}

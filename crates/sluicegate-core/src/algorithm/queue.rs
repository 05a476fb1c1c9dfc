//! The leaky bucket as a queue: a request gets a place in line and is delayed to it.
//!
//! A place lasts `period / amount`; `burst` of them may be waiting, and one more request
//! is on its way out. The state is the moment from which the line is empty; a request
//! leaves at that moment and moves it on by its own cost. Output is a constant rate.
//!
//! ```text
//! used  = max(empty_at, now) - now           the line ahead of this request
//! level = used + (already + cost) * place    the line behind it
//! allowed  <=>  level <= (burst + 1) * place
//! delay     =   ceil(used + already * place)
//! ```
//!
//! `1/s burst 2` (a place lasts 1 s, room for 3), starting vacant:
//!
//! | now | used | level | answer | delay | remaining |
//! |---|---|---|---|---|---|
//! | 0.0 s | 0 | 1 | allowed | 0 | 2 |
//! | 0.0 s | 1 | 2 | allowed | 1 s | 1 |
//! | 0.0 s | 2 | 3 | allowed | 2 s | 0 |
//! | 0.5 s | 2.5 | 3.5 | refused, retry after 0.5 s | | 0 |
//! | 1.0 s | 2 | 3 | allowed | 2 s | 0 |

use crate::algorithm::bucket::Bucket;
use crate::algorithm::{Algorithm, Scene};
use crate::ask::{Receipt, Take};
use crate::decision::{Decision, Refusal};
use crate::moment::Moment;
use crate::state::State;
use crate::time::{Span, Time};

/// A bucket with one place more than may wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Queue(pub(crate) Bucket);

impl Queue {
    /// What the last in a full line waits.
    pub(crate) fn longest_delay(&self) -> Span {
        self.0.level::<true>(Moment::default(), self.0.capacity() - 1).ceil_span()
    }
}

impl Algorithm for Queue {
    fn capacity(&self) -> u64 {
        self.0.capacity()
    }

    fn mend(&self, state: &mut State, scene: &Scene<'_>) {
        self.0.mend(state, scene);
    }

    fn judge(&self, state: &State, scene: &Scene<'_>, take: Take, already: u64) -> Decision {
        let used = self.0.used::<true>(state, scene.now);
        let ahead = self.0.level::<true>(used, already);
        let asked = take.least.saturating_add(already);
        // Its own set stands in line before it, today and whenever it asks again.
        let at_best = self.0.level::<true>(Moment::default(), already).ceil_span();
        if asked > self.0.capacity() || take.patience.is_some_and(|patience| at_best > patience) {
            return self.0.standing::<true>(ahead).refused(Refusal::CostAboveLimit);
        }
        let delay = ahead.ceil_span();
        let impatience = delay - take.patience.unwrap_or(delay);
        let retry_after =
            self.0.wait_for::<true>(self.0.level::<true>(used, asked)).max(impatience);
        if retry_after > Span::ZERO {
            return self.0.standing::<true>(ahead).refused(Refusal::Exhausted { retry_after });
        }
        let granted = self.0.grant::<true>(used, take, already);
        self.0
            .standing::<true>(self.0.level::<true>(used, already + granted))
            .allowed(granted, delay)
    }

    fn chargeable(&self, state: &State, scene: &Scene<'_>, units: u64) -> u64 {
        self.0.chargeable(state, scene, units)
    }

    /// The receipt names the end of the line, by which the last in it is known.
    fn charge(&self, state: &mut State, scene: &Scene<'_>, units: u64) -> Option<Receipt> {
        let receipt = self.0.charge(state, scene, units)?;
        match *state {
            State::Bucket { full_at, parts } => {
                Some(Receipt { until: full_at, until_parts: parts, ..receipt })
            }
            _ => Some(receipt),
        }
    }

    /// Only the last in line can leave: the places behind any other have been promised
    /// already, and handing its place out again would send two requests at one moment.
    fn give_back(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        receipt: &Receipt,
        units: u64,
    ) -> u64 {
        let last = matches!(*state, State::Bucket { full_at, parts }
            if full_at.is_same(parts, receipt.until, receipt.until_parts));
        if last { self.0.give_back(state, scene, receipt, units) } else { 0 }
    }

    /// From the end of the line: the places there are the ones that whoever gives them back, and
    /// shows no receipt, is believed not to need.
    fn refund(&self, state: &mut State, scene: &Scene<'_>, units: u64) -> u64 {
        self.0.refund(state, scene, units)
    }

    fn fresh_at(&self, state: &State) -> Time {
        self.0.fresh_at(state)
    }

    fn share_used(&self, state: &State, now: Time) -> u16 {
        self.0.share_used(state, now)
    }
}

//! Sets that are decided in one call to a store.

use sluicegate_core::{Decision, Set};
use smallvec::SmallVec;

use super::Applied;

/// Sets that are decided in one call to a store, with room for their decisions.
///
/// ```
/// use sluicegate::{Batch, Check, Limit, Memory, Set, Store, next_set_id};
///
/// let limit = Limit::token_bucket("api", "1/min".parse()?)?;
/// let check = Check::new(&limit, "ann");
/// let sets = [Set::one(&check, next_set_id()), Set::one(&check, next_set_id())];
/// let mut decisions = [None; 2];
/// let mut batch = Batch::new(&sets, &mut decisions);
/// Memory::new().try_apply(&mut batch);
/// assert!(batch.is_decided());
/// assert_eq!(decisions.map(|made| made.is_some_and(|made| made.is_allowed())), [true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Batch<'b> {
    sets: &'b [Set<'b>],
    decisions: &'b mut [Option<Decision>],
    /// Inline for one set: futures that wait for the store contain a batch.
    applied: SmallVec<[Applied; 1]>,
    /// The number of checks of the sets that are decided.
    checks: usize,
    one_request: bool,
}

impl<'b> Batch<'b> {
    /// Creates a batch; `decisions` has one element for each check, one set after the other.
    #[inline]
    pub fn new(sets: &'b [Set<'b>], decisions: &'b mut [Option<Decision>]) -> Self {
        Self {
            sets,
            decisions,
            applied: SmallVec::with_capacity(sets.len()),
            checks: 0,
            one_request: false,
        }
    }

    /// Marks the sets as those of one request, which waits for the store as a single set does.
    #[must_use]
    pub fn of_one_request(self) -> Self {
        Self { one_request: true, ..self }
    }

    /// Returns whether all sets are those of one request.
    pub fn is_one_request(&self) -> bool {
        self.one_request || self.sets.len() < 2
    }

    /// Returns all sets.
    pub fn sets(&self) -> &'b [Set<'b>] {
        self.sets
    }

    /// Returns the outcomes of the sets that are decided, which are the first ones.
    #[inline]
    pub fn applied(&self) -> &[Applied] {
        &self.applied
    }

    /// Returns whether all sets are decided.
    #[inline]
    pub fn is_decided(&self) -> bool {
        self.applied.len() == self.sets.len()
    }

    /// Returns the undecided sets, and the room for their decisions.
    #[inline]
    pub fn undecided(&mut self) -> (&'b [Set<'b>], &mut [Option<Decision>]) {
        (&self.sets[self.applied.len()..], &mut self.decisions[self.checks..])
    }

    /// Decides all undecided sets, in their order.
    ///
    /// `decide` writes the decision on each check of a set, and returns the outcome.
    #[inline(always)]
    pub fn decide_each(
        &mut self,
        mut decide: impl FnMut(&'b Set<'b>, &mut [Option<Decision>]) -> Applied,
    ) {
        let mut rest = &mut self.decisions[self.checks..];
        for set in &self.sets[self.applied.len()..] {
            let (own, after) = rest.split_at_mut(set.checks().len());
            rest = after;
            self.applied.push(decide(set, own));
            self.checks += set.checks().len();
        }
    }

    /// Returns the first undecided set, and the room for its decisions.
    pub fn next_set(&mut self) -> Option<(&'b Set<'b>, &mut [Option<Decision>])> {
        let set = self.sets.get(self.applied.len())?;
        Some((set, &mut self.decisions[self.checks..self.checks + set.checks().len()]))
    }

    /// Adds the outcome of the first undecided set.
    ///
    /// # Panics
    ///
    /// If all sets are decided.
    #[inline]
    pub fn push(&mut self, applied: Applied) {
        self.checks += self.sets[self.applied.len()].checks().len();
        self.applied.push(applied);
    }

    /// Returns the decided sets with their decisions and outcomes.
    pub fn decided(&self) -> impl Iterator<Item = (&'b Set<'b>, &[Option<Decision>], Applied)> {
        let mut rest = &*self.decisions;
        self.sets.iter().zip(&self.applied).map(move |(set, applied)| {
            let (own, after) = rest.split_at(set.checks().len());
            rest = after;
            (set, own, *applied)
        })
    }
}

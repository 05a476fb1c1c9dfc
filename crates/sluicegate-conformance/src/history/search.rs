//! The search for a sequential order that explains a history.
//!
//! This is the algorithm of Wing and Gong, with the memoization of Lowe: the order is built from
//! its beginning; the next operation may be any that was invoked before all remaining ones had
//! returned. A prefix is characterised by the operations in it and the state after it, so a prefix
//! equivalent to an earlier dead end is skipped.

use std::collections::HashMap;

use super::invocation::Invocation;
use crate::subject::Bare;

/// No order explains the history; contains the longest prefix of one, as indices.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stuck(pub(super) Vec<usize>);

/// The operations in an order that explains every answer.
pub(super) fn linearize(operations: &[Invocation<'_>]) -> Result<Vec<usize>, Stuck> {
    assert!(operations.len() <= 64, "a set of operations is kept in 64 bits");
    let mut search =
        Search { operations, tried: HashMap::new(), order: Vec::new(), longest: Vec::new() };
    if search.goes_on(Done::default(), &Bare::default()) {
        Ok(search.order)
    } else {
        Err(Stuck(search.longest))
    }
}

/// Returns the operations that may come next in real time.
///
/// No other remaining operation returned before they were invoked.
pub(super) fn next(operations: &[Invocation<'_>], order: &[usize]) -> Vec<usize> {
    let done = order.iter().fold(Done::default(), |done, index| done.with(*index));
    done.next(operations).collect()
}

/// The set of operations that are already in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Done(u64);

impl Done {
    fn with(self, index: usize) -> Self {
        Self(self.0 | 1 << index)
    }

    fn left(self, operations: &[Invocation<'_>]) -> impl Iterator<Item = usize> {
        (0..operations.len()).filter(move |index| self.0 & 1 << index == 0)
    }

    fn next(self, operations: &[Invocation<'_>]) -> impl Iterator<Item = usize> {
        let first = self.left(operations).map(|index| operations[index].returned).min();
        let may = move |index: &usize| Some(operations[*index].invoked) < first;
        self.left(operations).filter(may)
    }
}

struct Search<'h, 'a> {
    operations: &'h [Invocation<'a>],
    tried: HashMap<Done, Vec<Bare>>,
    order: Vec<usize>,
    longest: Vec<usize>,
}

impl Search<'_, '_> {
    /// Extends the order to a complete one; returns whether that is possible.
    fn goes_on(&mut self, done: Done, state: &Bare) -> bool {
        if self.order.len() > self.longest.len() {
            self.longest.clone_from(&self.order);
        }
        if self.order.len() == self.operations.len() {
            return true;
        }
        for index in done.next(self.operations) {
            let mut after = state.clone();
            if self.operations[index].fits(&mut after) && self.is_new(done.with(index), &after) {
                self.order.push(index);
                if self.goes_on(done.with(index), &after) {
                    return true;
                }
                self.order.pop();
            }
        }
        false
    }

    fn is_new(&mut self, done: Done, state: &Bare) -> bool {
        let tried = self.tried.entry(done).or_default();
        let new = !tried.contains(state);
        if new {
            tried.push(state.clone());
        }
        new
    }
}

//! The search for a sequential order that explains a history.
//!
//! This is the algorithm of Wing and Gong, with the memoization of Lowe: the order is built from
//! its beginning; the next operation may be any that was invoked before all remaining ones had
//! returned. A prefix is characterised by the operations in it and the state after it, so a prefix
//! equivalent to an earlier dead end is skipped.

use std::collections::HashMap;

use crate::subject::MapStore;

/// A recorded call of a store.
pub trait RecordedCall {
    /// Returns the tickets that were drawn before the call and after it.
    fn interval(&self) -> (u64, u64);

    /// Returns whether `state` gives the recorded answer; `state` is advanced by it.
    fn fits(&self, state: &mut MapStore) -> bool;
}

/// No order explains the history; contains the longest prefix of one, as indices.
#[derive(Debug, PartialEq, Eq)]
pub struct NotLinearizable(pub(super) Vec<usize>);

/// The operations in an order that explains every answer.
pub fn linearize<C: RecordedCall>(operations: &[C]) -> Result<Vec<usize>, NotLinearizable> {
    assert!(operations.len() <= 64, "a set of operations is kept in 64 bits");
    let mut search =
        Search { operations, tried: HashMap::new(), order: Vec::new(), longest: Vec::new() };
    if search.extend(OrderedOperations::default(), &MapStore::default()) {
        Ok(search.order)
    } else {
        Err(NotLinearizable(search.longest))
    }
}

/// Returns the operations that may come next in real time.
///
/// No other remaining operation returned before they were invoked.
pub(super) fn next<C: RecordedCall>(operations: &[C], order: &[usize]) -> Vec<usize> {
    let done = order.iter().fold(OrderedOperations::default(), |done, index| done.with(*index));
    done.next(operations).collect()
}

/// The set of operations that are already in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct OrderedOperations(u64);

impl OrderedOperations {
    fn with(self, index: usize) -> Self {
        Self(self.0 | 1 << index)
    }

    fn remaining<C>(self, operations: &[C]) -> impl Iterator<Item = usize> + use<C> {
        (0..operations.len()).filter(move |index| self.0 & 1 << index == 0)
    }

    fn next<C: RecordedCall>(self, operations: &[C]) -> impl Iterator<Item = usize> {
        let first = self.remaining(operations).map(|index| operations[index].interval().1).min();
        let may = move |index: &usize| Some(operations[*index].interval().0) < first;
        self.remaining(operations).filter(may)
    }
}

struct Search<'h, C> {
    operations: &'h [C],
    tried: HashMap<OrderedOperations, Vec<MapStore>>,
    order: Vec<usize>,
    longest: Vec<usize>,
}

impl<C: RecordedCall> Search<'_, C> {
    /// Extends the order to a complete one; returns whether that is possible.
    fn extend(&mut self, done: OrderedOperations, state: &MapStore) -> bool {
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
                if self.extend(done.with(index), &after) {
                    return true;
                }
                self.order.pop();
            }
        }
        false
    }

    fn is_new(&mut self, done: OrderedOperations, state: &MapStore) -> bool {
        let tried = self.tried.entry(done).or_default();
        let new = !tried.contains(state);
        if new {
            tried.push(state.clone());
        }
        new
    }
}

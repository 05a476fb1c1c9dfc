//! Looks for an order, one operation after the other, that explains a history.
//!
//! The search of Wing and Gong, with the memory of Lowe: build the order from its beginning;
//! next may come any operation that was invoked before all others that are left had returned.
//! What matters of a beginning is which operations are in it and which state they lead to, so
//! a beginning like an earlier one that led nowhere is not tried again.

use std::collections::HashMap;

use super::operation::Operation;
use crate::subject::Bare;

/// No order explains the history; the longest beginning of one, as indices of operations.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stuck(pub(super) Vec<usize>);

/// The operations in an order that explains every answer.
pub(super) fn linearize(operations: &[Operation<'_>]) -> Result<Vec<usize>, Stuck> {
    assert!(operations.len() <= 64, "a set of operations is kept in 64 bits");
    let mut search =
        Search { operations, tried: HashMap::new(), order: Vec::new(), longest: Vec::new() };
    if search.goes_on(Done::default(), &Bare::default()) {
        Ok(search.order)
    } else {
        Err(Stuck(search.longest))
    }
}

/// The operations that may come next in real time: no other that is left returned before they
/// were invoked.
pub(super) fn next(operations: &[Operation<'_>], order: &[usize]) -> Vec<usize> {
    let done = order.iter().fold(Done::default(), |done, index| done.with(*index));
    done.next(operations).collect()
}

/// Which operations are in the order already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Done(u64);

impl Done {
    fn with(self, index: usize) -> Self {
        Self(self.0 | 1 << index)
    }

    fn left(self, operations: &[Operation<'_>]) -> impl Iterator<Item = usize> {
        (0..operations.len()).filter(move |index| self.0 & 1 << index == 0)
    }

    fn next(self, operations: &[Operation<'_>]) -> impl Iterator<Item = usize> {
        let first = self.left(operations).map(|index| operations[index].returned).min();
        let may = move |index: &usize| Some(operations[*index].invoked) < first;
        self.left(operations).filter(may)
    }
}

struct Search<'h, 'a> {
    operations: &'h [Operation<'a>],
    tried: HashMap<Done, Vec<Bare>>,
    order: Vec<usize>,
    longest: Vec<usize>,
}

impl Search<'_, '_> {
    /// Whether the order can be completed; if so, it is.
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

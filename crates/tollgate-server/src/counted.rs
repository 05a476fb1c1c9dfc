//! What the server asks of a store beyond deciding: its size, for the metrics.

use tollgate::{Clock, Memory, Store};

/// A store that can say how many counters it keeps.
pub trait Counted: Store {
    /// How many counters are kept.
    fn counters(&self) -> usize;
}

impl<C: Clock> Counted for Memory<C> {
    fn counters(&self) -> usize {
        self.len()
    }
}

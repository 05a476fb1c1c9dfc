//! What the server asks of a store beyond deciding: how large it is, for the metrics.

use tollgate::{Clock, Memory, Store};

/// A store that can say how large it is.
pub trait Measured: Store {
    /// How large it is now.
    fn size(&self) -> Size;
}

/// How large a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// How many counters are kept.
    pub counters: usize,
    /// The bytes they take up …
    pub bytes: usize,
    /// … and the most they may.
    pub max_bytes: usize,
    /// How many were forgotten, for want of memory, while they still mattered.
    pub forgotten: u64,
}

impl<C: Clock> Measured for Memory<C> {
    fn size(&self) -> Size {
        Size {
            counters: self.len(),
            bytes: self.bytes(),
            max_bytes: self.max_bytes(),
            forgotten: self.forgotten(),
        }
    }
}

//! What the server asks of a store beyond deciding: how large it is, and how it is doing.

use sluicegate::{Clock, Memory, Store};
use sluicegate_audit::Traced;
use sluicegate_redis::{Counts, Health, Redis};

/// A store that can say how large it is, and how it is doing.
pub trait Measured: Store {
    /// How large it is now: what is in this process' memory.
    fn size(&self) -> Size;

    /// How the store is doing that nodes share; `None` where they share none.
    fn shared(&self) -> Option<Shared> {
        None
    }
}

/// How a store is doing that nodes share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// Whether it is there.
    pub health: Health,
    /// How often what has happened.
    pub counts: Counts,
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

impl Measured for Redis {
    fn size(&self) -> Size {
        self.memory().size()
    }

    fn shared(&self) -> Option<Shared> {
        Some(Shared { health: self.health(), counts: self.counts() })
    }
}

/// A trace takes nothing away from the store, and adds nothing to it.
impl<S: Measured> Measured for Traced<S> {
    fn size(&self) -> Size {
        self.store().size()
    }

    fn shared(&self) -> Option<Shared> {
        self.store().shared()
    }
}

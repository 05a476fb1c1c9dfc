//! The atomics and locks of this store.
//!
//! In one place, because tests replace them by versions with chosen interleavings (`--cfg
//! shuttle`).

#[cfg(not(shuttle))]
pub(super) use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
#[cfg(not(shuttle))]
pub(super) use std::sync::{Mutex, MutexGuard};

#[cfg(shuttle)]
pub(super) use shuttle::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
#[cfg(shuttle)]
pub(super) use shuttle::sync::{Mutex, MutexGuard};

pub(super) use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use std::sync::PoisonError;

/// Locks, ignoring poison: the data under these locks is consistent at every step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Exponential spinning, then yielding, while another thread finishes a few instructions.
#[derive(Default)]
pub(super) struct Backoff {
    turns: u32,
}

impl Backoff {
    /// After this many spins the other thread has probably been descheduled: yield.
    const SPINS: u32 = 7;

    pub(super) fn wait(&mut self) {
        #[cfg(not(shuttle))]
        if self.turns < Self::SPINS {
            for _ in 0..1 << self.turns {
                std::hint::spin_loop();
            }
            self.turns += 1;
        } else {
            std::thread::yield_now();
        }
        #[cfg(shuttle)]
        {
            self.turns = (self.turns + 1).min(Self::SPINS);
            shuttle::thread::yield_now();
        }
    }
}

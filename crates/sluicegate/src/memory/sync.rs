//! The atomics and locks of this store, in one place: tests put in their place ones whose
//! interleavings they choose (`--cfg shuttle`).

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

/// Locks, also after a panic under the lock: what these locks guard is whole at every step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waiting for another thread to finish a few instructions.
#[derive(Default)]
pub(super) struct Patience {
    turns: u32,
}

impl Patience {
    /// From here on the other thread has probably lost its processor: give it ours.
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

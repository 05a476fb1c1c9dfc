//! Unique ids of sets.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use sluicegate_core::ChargeId;

/// Returns a unique set id without synchronising with other threads.
///
/// For stores that create sets of their own.
#[inline]
pub fn next_set_id() -> ChargeId {
    thread_local! {
        /// A number unique to the thread, and the number of ids it has created; the low byte of
        /// the count is left to the checks of the set.
        static IDS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    }
    #[cold]
    fn another_thread() -> u64 {
        RandomState::new().hash_one("sluicegate") | 1
    }
    let (thread, count) = IDS.get();
    let thread = if thread == 0 { another_thread() } else { thread };
    IDS.set((thread, count.wrapping_add(1 << 8)));
    ChargeId::from_bits(u128::from(thread) << 64 | u128::from(count))
}

//! Asserts that no sequence of sets makes `decide` panic or break a guarantee.
//!
//! Limits have every algorithm and the clock goes back and forth. The guarantees: a refused set
//! changes nothing, no number exceeds its limit, and a retry after the given time succeeds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate_fuzz::{Bytes, Counters};

/// Longer sequences find nothing that shorter ones do not, more slowly.
const MOST_STEPS: usize = 200;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes::new(data);
    let Some(mut counters) = Counters::read(&mut bytes) else { return };
    for _ in 0..MOST_STEPS {
        if bytes.is_empty() {
            return;
        }
        counters.step(&mut bytes);
    }
});

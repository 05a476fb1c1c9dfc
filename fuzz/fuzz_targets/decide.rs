//! Asserts that no sequence of sets, under limits of every algorithm and a clock that goes back
//! and forth, makes `decide` panic, and that its answers keep what they promise: a refused set
//! changes nothing, no number exceeds its limit, and waiting as long as told succeeds.

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

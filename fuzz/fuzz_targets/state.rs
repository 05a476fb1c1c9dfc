//! Asserts that no bytes make a state that harms: what is read is written again as it was, limits
//! of every algorithm go on with it and keep what they promise, and what they make of it can be
//! written and read in turn.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate_core::State;
use sluicegate_fuzz::{Bytes, Counters};

/// A state is soon mended or used up; then the sequence is one like any other.
const MOST_STEPS: usize = 30;

fuzz_target!(|data: &[u8]| {
    let mut left = data;
    let Ok(state) = State::decode(&mut left) else { return };
    assert_eq!(encoded(&state), data[..data.len() - left.len()], "{state:?}");

    let mut bytes = Bytes::new(left);
    let Some(mut counters) = Counters::read(&mut bytes) else { return };
    counters.put(&state);
    for _ in 0..MOST_STEPS {
        counters.step(&mut bytes);
        for state in counters.states() {
            assert_eq!(State::decode(&mut &encoded(state)[..]).as_ref(), Ok(state));
        }
        if bytes.is_empty() {
            return;
        }
    }
});

fn encoded(state: &State) -> Vec<u8> {
    let mut bytes = Vec::new();
    state.encode(&mut bytes);
    bytes
}

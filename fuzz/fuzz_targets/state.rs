//! Asserts that any bytes that decode to a state are harmless.
//!
//! A decoded state is encoded again as it was, limits of every algorithm work with it and keep
//! their guarantees, and the states that they produce can be encoded and decoded in turn.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate_core::State;
use sluicegate_fuzz::{Bytes, Counters};

/// A state is soon repaired or used up; then the sequence is like any other.
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

//! Asserts that any text is a quota or a short error.
//!
//! A quota prints and parses back to itself, and every limit is created from it or rejected with a
//! short error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate_core::{Limit, LimitError, Quota, Slices};

/// A longer error is not readable.
const LONGEST_ERROR: usize = 1_000;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    match text.parse::<Quota>() {
        Ok(quota) => {
            assert_eq!(quota.to_string().parse(), Ok(quota), "`{quota}` reads as another quota");
            // The length serves as any number that is independent of the quota.
            let slices = u32::try_from(data.len()).unwrap_or(u32::MAX);
            for made in limits(quota, slices) {
                made.err().inspect(|error| assert_readable(&error.to_string()));
            }
        }
        Err(error) => assert_readable(&error.to_string()),
    }
});

fn limits(quota: Quota, slices: u32) -> [Result<Limit, LimitError>; 9] {
    [
        Limit::token_bucket("limit", quota),
        Limit::leaky_bucket("limit", quota),
        Limit::queue("limit", quota),
        Limit::fixed_window("limit", quota),
        Limit::sliding_window("limit", quota, Slices::Weighted(1)),
        Limit::sliding_window("limit", quota, Slices::Strict(1)),
        Limit::sliding_window("limit", quota, Slices::Weighted(slices)),
        Limit::sliding_window("limit", quota, Slices::Strict(slices)),
        Limit::sliding_log("limit", quota),
    ]
}

fn assert_readable(error: &str) {
    assert!(!error.is_empty(), "an error without a text");
    assert!(error.len() < LONGEST_ERROR, "an error of {} bytes: {error}", error.len());
}

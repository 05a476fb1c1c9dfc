//! Asserts that any text is a quota that prints and parses back to itself and of which every
//! limit is made or refused in few words, or that it is refused in few words itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate_core::{Limit, LimitError, Quota, Slices};

/// Longer than this, an error tells more than anybody reads.
const LONGEST_ERROR: usize = 1_000;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    match text.parse::<Quota>() {
        Ok(quota) => {
            assert_eq!(quota.to_string().parse(), Ok(quota), "`{quota}` reads as another quota");
            // The length stands for any number that has nothing to do with the quota.
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

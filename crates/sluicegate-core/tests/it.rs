//! Tests of the public API: bounds, correct decisions, parsers.

// Tests report failures by panicking.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod it {
    mod bucket_bounds;
    mod concurrency_bounds;
    mod counter;
    mod honesty;
    mod keys;
    mod quotas;
    mod receipts;
    mod refunds;
    mod set_bounds;
    mod states;
    mod tiers;
    mod undo;
    mod window_bounds;
}

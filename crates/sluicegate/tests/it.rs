//! Tests of the public API: conformance of the memory store, and the limiter.

// Tests report failures by panicking.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod it {
    mod allocations;
    mod batch_order;
    mod calendars;
    mod conformance;
    mod deadlines;
    mod eviction;
    mod flood;
    mod growth;
    mod limiter;
    mod permits;
    mod shadow_faults;
    mod shadows;
    mod snapshot;
    mod verdicts;
    mod wait;
}

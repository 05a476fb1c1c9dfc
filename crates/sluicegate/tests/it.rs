//! The library from outside: the conformance suite on the plain store, and the limiter.

// Tests say what is wrong by panicking.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod it {
    mod allocations;
    mod calendars;
    mod conformance;
    mod flood;
    mod forgetting;
    mod growing;
    mod holding;
    mod hurry;
    mod limiter;
    mod order;
    mod snapshot;
    mod verdicts;
    mod waiting;
}

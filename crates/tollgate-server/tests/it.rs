//! The server over real connections, under a clock that is moved by hand.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod it {
    mod bad_bodies;
    mod bad_checks;
    mod batch;
    mod check;
    mod client;
    mod connections;
    mod counters;
    mod fading;
    mod gate;
    mod metrics;
    mod outage;
    mod pages;
    mod proxied;
    mod random_bodies;
    mod reloading;
    mod reports;
    mod rule_metrics;
    mod same_answers;
    mod shutdown;
    mod slots;
    mod throttle;
    mod undecided;
}

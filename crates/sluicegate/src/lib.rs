//! An exact rate limiter to embed.
//!
//! A program asks "may this caller do this now?" and gets an exact answer: yes, yes after
//! a delay, or no and when to come back. Many limits are asked in one step, and a request
//! that any of them refuses is charged to none.
//!
//! # Start here
//!
//! ```
//! use sluicegate::{Check, Limit, Limiter};
//!
//! let limiter = Limiter::in_memory();
//! let api = Limit::token_bucket("api", "100/min burst 2".parse()?)?;
//!
//! for _ in 0..2 {
//!     assert!(limiter.check(Check::new(&api, "user:42")).now()?.is_allowed());
//! }
//! let decision = limiter.check(Check::new(&api, "user:42")).now()?;
//! assert!(!decision.is_allowed());
//! assert_eq!(decision.retry_after().unwrap().as_millis_ceil(), 600);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The same call awaits where a store may take a moment, under any executor:
//!
//! ```
//! # use sluicegate::{Check, CheckError, Limit, Limiter, Store};
//! async fn may_proceed<S: Store>(
//!     limiter: &Limiter<S>,
//!     api: &Limit,
//!     user: &str,
//! ) -> Result<bool, CheckError> {
//!     Ok(limiter.check(Check::new(api, user)).await?.is_allowed())
//! }
//! ```
//!
//! # Which call for what
//!
//! | to | use |
//! |---|---|
//! | ask one limit | [`Limiter::check`] |
//! | ask all that a request owes, all or nothing | [`Plan`], [`Limiter::check_plan`] |
//! | ask what several requests owe together, all or nothing | [`Limiter::check_together`] |
//! | ask about many callers at once | [`Limiter::check_many`], [`Limiter::check_plans`] |
//! | wait for the turn, with a deadline | [`Limiter::wait`] |
//! | bound what is in flight | [`Limiter::hold`], [`InFlight`] |
//! | reserve now, settle the real cost later | [`Decision::receipt`], [`Limiter::settle`] |
//! | take back a charge | [`Limiter::refund`] |
//! | give back units that were not used, without a receipt | [`Limiter::refund_units`] |
//! | keep what a caller used when its tier changes | [`Ask::Rescale`] |
//! | report failed logins | [`Limit::cooldown`], [`Limiter::charge`]; successes by [`Ask::Refund`] |
//! | look without touching | [`Limiter::peek`] |
//! | test your own limits without sleeping | [`ManualClock`] |
//!
//! # Which limit for what
//!
//! | limit | admits | choose it for |
//! |---|---|---|
//! | [`Limit::token_bucket`] | `burst` at once, the rate over any time | almost everything |
//! | [`Limit::leaky_bucket`] | the same, seen as a level that drains | those who think in levels |
//! | [`Limit::queue`] | a constant rate; others wait their turn | shaping, calls going out |
//! | [`Limit::fixed_window`] | the amount per calendar period | quotas that people are billed by |
//! | [`Limit::sliding_window`] | about the amount in any window; never more if strict | large amounts, little memory |
//! | [`Limit::sliding_log`] | never more than the amount in any window | small, strict amounts |
//! | [`Limit::concurrency`] | so many in flight | slow, heavy requests |
//! | [`Limit::cooldown`] | everything, until too many failures | logins |
//!
//! # What an answer means
//!
//! A refusal is a [`Decision`], never an `Err`: an `Err` means that it could not be
//! decided. Numbers are honest: `remaining` is rounded down; waiting exactly
//! [`retry_after`](Decision::retry_after) with no competitor succeeds, and a microsecond
//! less does not; where the time is unknown or never comes, it is absent and the
//! [`Refusal`] says why.

#![allow(
    clippy::inline_always,
    reason = "a decision stays in registers only where all of its way is inlined; see docs/benchmarks.md"
)]

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod asking;
mod calendar;
mod clock;
mod deciding;
mod error;
mod in_flight;
mod limiter;
mod memory;
mod plain;
mod plan;
mod question;
mod store;
mod verdict;
mod waiting;

pub use asking::fresh_id;
pub use calendar::period_at;
#[doc(hidden)]
pub use clock::test_time;
pub use clock::{Clock, ManualClock, Sleep, SystemClock};
pub use deciding::{Deciding, Waiting};
pub use error::CheckError;
pub use in_flight::{Hold, InFlight};
pub use limiter::Limiter;
pub use memory::{
    Keeper, Memory, MemoryError, MemoryOptions, Restored, Saved, SnapshotError, SnapshotFault,
};
pub use plain::PlainMemory;
pub use plan::Plan;
pub use sluicegate_core::{
    Answer, Ask, Calendar, Check, Cooldown, Cost, CostTooLarge, Decision, Escalation, Gate, Id,
    Key, Limit, LimitError, Outage, ParseQuotaError, Per, Period, Quota, QuotaError, Receipt,
    Refusal, Ruling, Scope, Set, Slices, Span, State, Take, Time,
};
pub use store::{Applied, By, Immediate, Store};
pub use verdict::{Strictest, Verdict};

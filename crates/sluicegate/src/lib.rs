//! An exact, embeddable rate limiter.
//!
//! A [`Limiter`] decides whether a caller may proceed now, after a delay, or not until later. A
//! request is checked against many limits in one atomic step, and a request that any of them
//! refuses is charged to none.
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
//! Where the store may have to wait, the same call is awaited, under any executor:
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
//! # Choosing a call
//!
//! | to | use |
//! |---|---|
//! | check one limit | [`Limiter::check`] |
//! | check all limits of a request, all or nothing | [`Plan`], [`Limiter::check_plan`] |
//! | check many callers at once | [`Limiter::check_batch`], [`Limiter::try_check_batch`] |
//! | wait for the turn, with a deadline | [`Limiter::wait`] |
//! | limit requests in flight | [`Limiter::hold`], [`Permit`] |
//! | reserve now, settle the real cost later | [`Decision::receipt`], [`Limiter::settle`] |
//! | undo a charge | [`Limiter::refund`] |
//! | return units that were not used, without a receipt | [`Limiter::refund_units`] |
//! | keep the used units when a caller's tier changes | [`Operation::Rescale`] |
//! | report failed logins | [`Limit::cooldown`], [`Limiter::charge`]; successes by [`Operation::Refund`] |
//! | read the usage without changing it | [`Limiter::peek`] |
//! | test your own limits without sleeping | [`ManualClock`] |
//!
//! # Choosing a limit
//!
//! | limit | admits | choose it for |
//! |---|---|---|
//! | [`Limit::token_bucket`] | `burst` at once, the rate over any time | almost everything |
//! | [`Limit::leaky_bucket`] | the same, seen as a level that drains | a leaky bucket's terms |
//! | [`Limit::queue`] | a constant rate; others wait their turn | shaping, calls going out |
//! | [`Limit::fixed_window`] | the amount per calendar period | billing quotas |
//! | [`Limit::sliding_window`] | about the amount in any window; never more if strict | large amounts, little memory |
//! | [`Limit::sliding_log`] | never more than the amount in any window | small, strict amounts |
//! | [`Limit::concurrency`] | a number of requests in flight | slow, heavy requests |
//! | [`Limit::cooldown`] | everything, until too many failures | logins |
//!
//! # Reading a decision
//!
//! A refusal is a [`Decision`], never an `Err`: an `Err` means that the check could not be
//! decided. `remaining` is rounded down; a retry after exactly
//! [`retry_after`](Decision::retry_after) succeeds without a competing request, and a microsecond
//! earlier it does not; where the time is unknown or never comes, it is absent and the [`Refusal`]
//! gives the reason.

#![allow(
    clippy::inline_always,
    reason = "a decision stays in registers only where all of its way is inlined; see docs/benchmarks.md"
)]

/// The example in the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod calendar;
mod cell_map;
mod clock;
mod error;
mod limiter;
mod memory;
mod pending;
mod permit;
mod plan;
mod set_id;
mod store;
mod store_url;
mod verdict;

pub use calendar::period_at;
pub use cell_map::CellMap;
#[doc(hidden)]
pub use clock::test_time;
pub use clock::{Clock, ManualClock, Sleep, SystemClock};
pub use error::CheckError;
pub use limiter::Limiter;
pub use memory::{
    Autosave, Memory, MemoryError, MemoryOptions, RestoreReport, SaveReport, SnapshotReadError,
    SnapshotWriteError,
};
pub use pending::{Pending, PendingOperation, PendingTurn};
pub use permit::{Permit, TryHold};
pub use plan::Plan;
pub use set_id::next_set_id;
pub use sluicegate_core::{
    Algorithm, Answer, Calendar, ChargeId, Check, Cooldown, Cost, CostTooLarge, Decision,
    Escalation, Key, Limit, LimitError, OnStoreError, Operation, ParseQuotaError, Per, Period,
    Quota, QuotaError, Receipt, Refusal, Ruling, Scope, Set, Slices, Span, Spec, State, Take, Time,
};
pub use store::{Applied, Batch, DecidedBy, Store, SyncStore};
pub use store_url::{StoreUrl, StoreUrlError};
pub use verdict::{Strictest, Verdict};

//! The decision core of Sluicegate.
//!
//! Everything here is a pure function of its arguments: no clock, no I/O, no floating point, no
//! dependency. Time and state are passed in, the new state is returned, and the same steps give
//! the same decisions on every machine.
//!
//! The main types: a [`Quota`] is an amount per time, a [`Limit`] is a named quota with its
//! algorithm, a [`Check`] is one operation on one key of a limit, a [`Set`] holds the checks of
//! one request, and [`decide`] decides a set, all or nothing.
//!
//! ```
//! use sluicegate_core::{
//!     CellRef, ChargeId, Check, Cost, Limit, Operation, Ruling, Set, State, Time, decide,
//! };
//!
//! let limit = Limit::token_bucket("api", "2/min".parse()?)?;
//! let check = Check::new(&limit, b"user:42");
//! let set = Set::one(&check, ChargeId::from_bits(1));
//! let mut cell = [State::Vacant];
//! let mut decisions = [None];
//! let now = Time::from_micros(1_700_000_000_000_000);
//!
//! let mut run = || decide(&set, now, &[CellRef::cell(0)], &mut cell, &mut decisions);
//! assert_eq!(run(), Ruling::Admitted);
//! assert_eq!(run(), Ruling::Admitted);
//! assert_eq!(run(), Ruling::Refused);
//! assert_eq!(decisions[0].unwrap().retry_after().unwrap().as_secs_ceil(), 30);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod algorithm;
mod calendar;
mod check;
mod cost;
mod decide;
mod decision;
mod exact_time;
mod key;
mod limit;
mod operation;
mod quota;
mod receipt;
pub(crate) mod set;
mod state;
mod time;
pub mod varint;

pub use calendar::Calendar;
pub use check::{Check, OnStoreError, Scope};
pub use cost::{Cost, CostTooLarge};
pub use decide::{CellRef, Ruling, decide, decide_buckets};
pub use decision::{Answer, Decision, Refusal};
pub use exact_time::ExactTime;
pub use key::Key;
pub use limit::{
    Algorithm, BucketParameters, CarryOver, Cooldown, Escalation, Limit, LimitError, Parameters,
    Slices, Spec,
};
pub use operation::{Operation, Take};
pub use quota::{ParseQuotaError, Per, Quota, QuotaError};
pub use receipt::{ChargeId, Receipt};
pub use set::Set;
pub use state::{State, StateError};
pub use time::{Period, Span, Time};

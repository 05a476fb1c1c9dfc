//! The deciding core of Sluicegate.
//!
//! Everything here is a pure function of its arguments: no clock, no I/O, no floating
//! point, no dependency. Time is handed in, state is handed in and handed back, and the
//! same steps give the same answers on every machine.
//!
//! Where to start reading: [`Quota`] says how much per how long, [`Limit`] names a quota
//! and its algorithm, a [`Check`] asks one limit about one key, a [`Set`] is the checks one
//! request owes, and [`decide`] answers a set: all of it or nothing.
//!
//! ```
//! use sluicegate_core::{Ask, Check, Cost, Id, Limit, Place, Ruling, Set, State, Time, decide};
//!
//! let limit = Limit::token_bucket("api", "2/min".parse()?)?;
//! let check = Check::new(&limit, b"user:42");
//! let set = Set::one(&check, Id::from_bits(1));
//! let mut cell = [State::Vacant];
//! let mut decisions = [None];
//! let now = Time::from_micros(1_700_000_000_000_000);
//!
//! let mut ask = || decide(&set, now, &[Place::cell(0)], &mut cell, &mut decisions);
//! assert_eq!(ask(), Ruling::Admitted);
//! assert_eq!(ask(), Ruling::Admitted);
//! assert_eq!(ask(), Ruling::Refused);
//! assert_eq!(decisions[0].unwrap().retry_after().unwrap().as_secs_ceil(), 30);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod algorithm;
mod ask;
mod calendar;
mod check;
mod cost;
mod decision;
mod key;
mod limit;
mod moment;
mod quota;
mod set;
mod state;
mod time;

pub use ask::{Ask, Id, Receipt, Take};
pub use calendar::Calendar;
pub use check::{Check, Gate, Outage, Scope, Set};
pub use cost::{Cost, CostTooLarge};
pub use decision::{Answer, Decision, Refusal};
pub use key::Key;
pub use limit::{
    BucketFigures, CarryOver, Cooldown, Escalation, Figures, Limit, LimitError, Slices,
};
pub use moment::Moment;
pub use quota::{ParseQuotaError, Per, Quota, QuotaError};
pub use set::{Alone, Place, Ruling, decide, decide_alone, decide_together};
pub use state::{State, StateError};
pub use time::{Period, Span, Time};

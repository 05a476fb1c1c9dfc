//! Traces of decisions, and what checks them.
//!
//! A trace is a file of JSON lines: a header that names the rules, then every decision with what
//! was answered. [`Trace`] writes one, cheaply, from any thread. [`Audit`] goes through one and says
//! whether everything that is promised was kept: no interval in which too much was admitted, no
//! refusal without need, no number that is not true.
//!
//! ```
//! use sluicegate_audit::{Audit, Entry, Header};
//! use sluicegate::{Check, Clock, Limit, Limiter, ManualClock, Memory};
//!
//! let clock = ManualClock::default();
//! let limiter = Limiter::new(Memory::with_clock(clock.clone()));
//! let limit = Limit::token_bucket("api", "100/min burst 20".parse()?)?;
//!
//! let header = Header::default().rule("api", "token_bucket:100/min burst 20".parse()?);
//! let mut audit = Audit::new(header)?;
//! for _ in 0..30 {
//!     let decision = limiter.check(Check::new(&limit, "user:42")).now()?;
//!     audit.add(Entry::decision("api", "user:42", clock.now(), 1, &decision));
//! }
//! let findings = audit.finish();
//! assert!(findings.is_ok(), "{findings}");
//! assert_eq!(findings.rules[0].allowed, 20);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod audit;
mod entry;
mod files;
mod findings;
mod header;
mod line;
mod reference;
mod rule;
mod safety;
mod source;
mod trace;
mod traced;
mod unreadable;
mod waits;

pub use audit::Audit;
pub use entry::{Entry, Event};
pub use files::TraceFiles;
pub use findings::{Findings, RuleFindings, Tightest, Violation, ViolationKind, WaitFindings};
pub use header::{Header, HeaderError, Loss, OnStoreError, Outage, RuleSpec};
pub use source::Source;
pub use trace::{Recorded, Trace, TraceError, Trouble};
pub use traced::{Recorder, Traced};
pub use unreadable::{Fault, Unreadable};
pub use waits::WaitBounds;

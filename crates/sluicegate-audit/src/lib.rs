//! Traces of decisions, and audits of them.
//!
//! A trace is a file of JSON lines: a header with the rules, then every decision. [`TraceWriter`]
//! writes one, cheaply, from any thread. [`Audit`] checks the guarantees on a trace: no interval
//! with too many admissions, no refusal without cause, no wrong number in a decision.
//!
//! ```
//! use sluicegate_audit::{Audit, TraceEntry, TraceHeader};
//! use sluicegate::{Check, Clock, Limit, Limiter, ManualClock, Memory};
//!
//! let clock = ManualClock::default();
//! let limiter = Limiter::new(Memory::with_clock(clock.clone()));
//! let limit = Limit::token_bucket("api", "100/min burst 20".parse()?)?;
//!
//! let header = TraceHeader::default().rule("api", "token_bucket:100/min burst 20".parse()?);
//! let mut audit = Audit::new(header)?;
//! for _ in 0..30 {
//!     let decision = limiter.check(Check::new(&limit, "user:42")).now()?;
//!     audit.add(TraceEntry::decision("api", "user:42", clock.now(), 1, &decision));
//! }
//! let findings = audit.finish();
//! assert!(findings.is_ok(), "{findings}");
//! assert_eq!(findings.rules[0].allowed, 20);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod audit;
mod trace;

mod findings;

mod bounds;
mod reference_limiter;

mod decision_source;
mod error;
mod latency;
mod prepared_rule;
mod recording_store;

pub use audit::Audit;
pub use decision_source::DecisionSource;
pub use error::{TraceErrors, TraceReadError};
pub use findings::{Findings, LatencyFindings, RuleFindings, Tightest, Violation, ViolationKind};
pub use latency::LatencyBounds;
pub use recording_store::{Recorder, RecordingStore};
pub use trace::entry::{TraceEntry, TraceEvent};
pub use trace::header::{HeaderError, Loss, OutagePolicy, OutageSpan, RuleSpec, TraceHeader};
pub use trace::reader::TraceReader;
pub use trace::writer::{TraceError, TraceWriter, WriteFailure, WriteReport};

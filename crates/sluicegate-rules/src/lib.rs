//! Rule files for Sluicegate, and the rate limiter that enforces them.
//!
//! A rule file defines how callers are identified, their limits, and what happens to requests
//! beyond a limit. [`RuleFile::load`] parses one and reports all mistakes at once;
//! [`RuleSet::plan`] turns a [`Request`] into a [`RequestPlan`], the checks that the rules require;
//! [`RuleLimiter`] plans every request and decides the plan with a
//! [`Limiter`](sluicegate::Limiter).

#![forbid(unsafe_code)]

mod calendar;
mod directory;
mod explain;
mod file;
mod keyed_hash;
mod matching;
mod plan;
mod receipts;
mod request;
mod rule_limiter;
mod rule_set;

pub use self::directory::{Directory, ListKind, TimeRange};
pub use self::explain::Explanation;
pub use self::file::load::{DiskFiles, FileSource, InMemoryFiles, UnreadableFile};
pub use self::file::settings::{Listen, MemorySettings, RedisSettings, SentinelAccess, Settings};
pub use self::file::timestamp::parse_moment;
pub use self::file::units::{parse_bytes, parse_length};
pub use self::file::{RuleFile, schema};
pub use self::keyed_hash::process_key::RandomnessError;
pub use self::plan::{PlanBuffer, PlanOutcome, RequestPlan};
pub use self::receipts::reservation::{SettleOutcome, SettledLimit};
pub use self::receipts::slot::{ReleaseOutcome, RenewOutcome};
pub use self::receipts::token::{InvalidReceipt, ReceiptKind};
pub use self::request::address::trusted::{InvalidNetwork, TrustedNetworks};
pub use self::request::descriptor;
pub use self::request::purpose::Purpose;
pub use self::request::{AttributeValue, Attributes, Headers, Request};
pub use self::rule_limiter::callers::CallerError;
pub use self::rule_limiter::{Evaluation, GroupEvaluation, GroupItem, RuleLimiter};
pub use self::rule_set::RuleSet;
pub use self::rule_set::header_settings::{HeaderNames, HeaderSettings, Reset};
pub use self::rule_set::rule::{Mode, Rule};
pub use ::sluicegate::{OnStoreError, Scope};
pub use sluicegate_yaml::{
    Diagnostic, Location, Report, Severity, SourceId, SourceMap, SourceSpan,
    closest as closest_word,
};

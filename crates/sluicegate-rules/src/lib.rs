//! Rule files for Sluicegate: from a readable file to the checks a request owes.
//!
//! A rule file says who is asking, how much they may, and what then. [`RuleFile::load`] reads one, with
//! all its mistakes at once; [`RuleSet::plan`] turns a [`Request`] into the checks it owes;
//! [`RuleLimiter`] does that for every request and asks a limiter.

#![forbid(unsafe_code)]

mod address;
mod algorithm;
mod amount;
mod calendar;
mod callers;
mod charged;
mod compile;
mod condition;
mod cookie;
mod costs;
mod daytime;
pub mod descriptor;
mod digest;
mod directory;
mod doubts;
mod edited;
mod envelope;
mod explain;
mod facts;
mod file;
mod finding;
mod format;
mod headers;
mod host;
mod identity;
mod index;
mod instant;
#[cfg(feature = "jwt")]
mod jwt;
mod keys;
mod limits;
mod load;
mod matcher;
mod node;
mod number;
mod path;
mod planning;
mod policies;
mod process_key;
mod query;
mod report;
mod request;
mod reservation;
mod rule;
mod rule_limiter;
mod ruleset;
mod settings;
mod shape;
mod slot;
mod source;
mod spelling;
mod store_url;
mod tier;
#[cfg(feature = "jwt")]
mod token;
mod yaml;

pub use self::address::proxy_protocol;
pub use self::address::trusted::{NotANetwork, TrustedNetworks};
pub use self::algorithm::Algorithm;
pub use self::amount::{parse_bytes, parse_length};
pub use self::callers::CallerError;
pub use self::directory::{Directory, During, Listing};
pub use self::explain::Explanation;
pub use self::file::{RuleFile, schema};
pub use self::finding::{Finding, Severity};
pub use self::headers::{HeaderNames, HeaderSettings, Reset};
pub use self::instant::parse_moment;
pub use self::load::{Disk, Files, Shelf, Unreadable};
pub use self::planning::{Desk, Outcome, Planned, Purpose};
pub use self::process_key::RandomnessError;
pub use self::report::Report;
pub use self::request::{Attributes, Headers, Request, Value};
pub use self::reservation::{NotAReservation, Settled, SettledLimit};
pub use self::rule::{Consistency, Mode, Rule};
pub use self::rule_limiter::{Answered, Part, RuleLimiter, Together};
pub use self::ruleset::RuleSet;
pub use self::settings::{Listen, MemorySettings, RedisSettings, SentinelAccess, Settings};
pub use self::slot::{NotASlot, Released, Renewed};
pub use self::source::{Place, SourceId, Sources, Span as SourceSpan};
pub use self::spelling::closest as closest_word;
pub use self::store_url::{NotAStore, StoreUrl};
pub use ::sluicegate::{Outage, Scope};

//! Rate-limit headers, problem+json and request extraction for the types of the `http` crate.
//!
//! Services, middleware and gateways share this crate, so that a caller gets the same headers and
//! bodies from each of them. It opens no sockets.
//!
//! ```
//! use http::{HeaderMap, Request};
//! use sluicegate::Limiter;
//! use sluicegate_http::{HeaderLines, RateLimitInfo, request};
//! use sluicegate_rules::{RuleLimiter, RuleSet};
//!
//! let rules = RuleSet::parse("rules: [{ name: api, key: ip, limit: 5/min }]").unwrap();
//! let limiter = RuleLimiter::new(Limiter::in_memory(), rules)?;
//!
//! let (parts, ()) = Request::get("/search").body(()).unwrap().into_parts();
//! let lines = HeaderLines(&parts.headers);
//! let headers = limiter.check(&request(&parts, &lines, [192, 0, 2, 7].into()), |evaluation| {
//!     let mut headers = HeaderMap::new();
//!     RateLimitInfo::of(evaluation).insert_headers(&mut headers, || unreachable!());
//!     headers
//! }).now();
//! assert_eq!(headers.unwrap()["x-ratelimit-remaining"], "4");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod extract;
mod header_names;
mod problem;
mod rate_limit_info;

pub use self::extract::{HeaderLines, request};
pub use self::problem::{Audience, FieldError, Problem};
pub use self::rate_limit_info::{LimitOutcome, RateLimitInfo, RefusalKind};

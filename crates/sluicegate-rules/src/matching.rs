//! Matching of requests against the conditions of rules.

pub(crate) mod condition;
pub(crate) mod matcher;
pub(crate) mod number;
pub(crate) mod schedule;

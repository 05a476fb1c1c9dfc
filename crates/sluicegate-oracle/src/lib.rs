//! The slow, obvious reference of every limit: it writes the values the fast core must agree with.
//!
//! Nothing here is shared with the deciding core, on purpose: two independent readings of the same
//! contract that agree on millions of steps are worth more than one reading tested against itself.

#![forbid(unsafe_code)]
// A trace that contradicts itself is a mistake of whoever wrote it; stopping loudly is the answer.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

pub mod directed;
pub mod oracle;
pub mod random;
mod ratio;
pub mod text;
pub mod trace;

pub use oracle::Oracle;

//! The errors of checks that could not be decided. A refusal is not an error.

use std::borrow::Cow;
use std::fmt;

use crate::limiter::Limiter;

/// A check that could not be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckError {
    /// A key above [`Limiter::MAX_KEY`] bytes.
    KeyTooLong {
        /// The length in bytes.
        bytes: usize,
    },
    /// A plan of more than [`Limiter::MAX_CHECKS`] checks.
    TooManyChecks {
        /// The number of checks.
        found: usize,
    },
    /// One counter used with two different limits: they have the same name and key.
    ContradictoryLimits,
    /// A hold on a limit without slots.
    NothingToHold {
        /// The algorithm of the limit.
        algorithm: &'static str,
    },
    /// The store is unavailable, and the operation cannot be answered without it: a settlement, a
    /// renewal, a release.
    StoreUnreachable {
        /// The cause.
        why: Cow<'static, str>,
    },
    /// The store's time left each calendar window before the set arrived.
    CalendarRace,
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyTooLong { bytes } => write!(
                f,
                "cannot check a key of {bytes} bytes; use at most {}, or a digest of it",
                Limiter::<crate::Memory>::MAX_KEY
            ),
            Self::TooManyChecks { found } => write!(
                f,
                "cannot decide {found} checks in one step; use at most {}",
                Limiter::<crate::Memory>::MAX_CHECKS
            ),
            Self::ContradictoryLimits => f.write_str(
                "cannot decide a plan in which two different limits of the same name are asked \
                 about the same key; give the limits names of their own",
            ),
            Self::NothingToHold { algorithm } => write!(
                f,
                "cannot hold a slot of a limit by {algorithm}; use Limit::concurrency, or check \
                 and refund"
            ),
            Self::StoreUnreachable { why } => write!(
                f,
                "cannot change what the store keeps: {why}; what was taken comes back by itself \
                 in time, or ask again"
            ),
            Self::CalendarRace => f.write_str(
                "cannot decide a calendar window: the clock left it each time it was worked out; \
                 check that the clock is not being moved",
            ),
        }
    }
}

impl std::error::Error for CheckError {}

//! The specification that a limit is made from.

use super::settings::{Cooldown, Slices};
use crate::quota::Quota;
use crate::time::Span;

/// An algorithm that counts units by a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Algorithm {
    /// A bucket that refills continuously.
    #[default]
    TokenBucket,
    /// A token bucket presented as a level that drains.
    LeakyBucket,
    /// A leaky bucket that delays requests.
    Queue,
    /// A count per calendar period.
    FixedWindow,
    /// A window that moves with time.
    SlidingWindow,
    /// A log of every admission.
    SlidingLog,
}

/// The specification of a limit: its algorithm and its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spec {
    /// Units by a quota.
    Quota {
        /// The algorithm.
        algorithm: Algorithm,
        /// The quota as it was written.
        quota: Quota,
        /// The slices of a sliding window; other algorithms ignore them.
        slices: Slices,
        /// Whether unconditional charges may go beyond exhausted.
        debt: bool,
    },
    /// Slots that are held while requests are in flight.
    Slots {
        /// The number of slots.
        slots: u32,
        /// The time after which an abandoned slot comes back.
        lease: Span,
    },
    /// A block after too many failures.
    Cooldown(Cooldown),
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 6] = [
        Self::TokenBucket,
        Self::LeakyBucket,
        Self::Queue,
        Self::FixedWindow,
        Self::SlidingWindow,
        Self::SlidingLog,
    ];

    /// Returns the algorithm with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == name)
    }

    /// Returns the name, as used in rule files and requests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TokenBucket => "token_bucket",
            Self::LeakyBucket => "leaky_bucket",
            Self::Queue => "queue",
            Self::FixedWindow => "fixed_window",
            Self::SlidingWindow => "sliding_window",
            Self::SlidingLog => "sliding_log",
        }
    }

    /// Returns whether its state is a time, whose units depend on the quota.
    pub const fn is_bucket(self) -> bool {
        matches!(self, Self::TokenBucket | Self::LeakyBucket | Self::Queue)
    }

    /// Returns the specification of a limit by this quota, with one slice and with debt.
    pub const fn by(self, quota: Quota) -> Spec {
        Spec::Quota { algorithm: self, quota, slices: Slices::Weighted(1), debt: true }
    }
}

impl Spec {
    /// Returns the name of the algorithm, as used in rule files and answers.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Quota { algorithm, .. } => algorithm.as_str(),
            Self::Slots { .. } => "concurrency",
            Self::Cooldown(_) => "cooldown",
        }
    }

    /// Returns the algorithm of a limit by quota.
    pub const fn algorithm(&self) -> Option<Algorithm> {
        match self {
            Self::Quota { algorithm, .. } => Some(*algorithm),
            Self::Slots { .. } | Self::Cooldown(_) => None,
        }
    }

    /// Returns the quota of a limit by quota.
    pub const fn quota(&self) -> Option<Quota> {
        match self {
            Self::Quota { quota, .. } => Some(*quota),
            Self::Slots { .. } | Self::Cooldown(_) => None,
        }
    }

    /// Returns whether the state is a time, whose units depend on the quota.
    pub const fn is_bucket(&self) -> bool {
        matches!(self, Self::Quota { algorithm, .. } if algorithm.is_bucket())
    }

    /// Returns whether this is a sliding window that never exceeds its amount.
    pub const fn is_strict_window(&self) -> bool {
        matches!(
            self,
            Self::Quota { algorithm: Algorithm::SlidingWindow, slices: Slices::Strict(_), .. }
        )
    }

    /// Returns the specification with these slices.
    #[must_use]
    pub const fn with_slices(self, slices: Slices) -> Self {
        match self {
            Self::Quota { algorithm, quota, debt, .. } => {
                Self::Quota { algorithm, quota, slices, debt }
            }
            other => other,
        }
    }

    /// Returns the specification without debt: unconditional charges stop at exhausted.
    #[must_use]
    pub const fn without_debt(self) -> Self {
        match self {
            Self::Quota { algorithm, quota, slices, .. } => {
                Self::Quota { algorithm, quota, slices, debt: false }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;

    #[test]
    fn a_limit_returns_the_spec_that_it_is_made_from() {
        let quota = "6000/h burst 20".parse().unwrap();
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::named(algorithm.as_str()), Some(algorithm));
            let quota = if algorithm.is_bucket() { quota } else { "10/min".parse().unwrap() };
            for spec in [algorithm.by(quota), algorithm.by(quota).without_debt()] {
                let limit = Limit::new("limit", spec).unwrap();
                assert_eq!(limit.spec(), &spec);
                assert_eq!(limit.algorithm(), algorithm.as_str());
                assert_eq!(limit.share_of(3).spec(), &spec, "a share is of a configured limit");
            }
        }
        assert_eq!(Algorithm::named("concurrency"), None);
    }

    #[test]
    fn limits_with_equal_numbers_are_equal_however_they_are_written() {
        let limit = |quota: &str| Limit::token_bucket("api", quota.parse().unwrap()).unwrap();
        assert_eq!(limit("6000/h burst 20"), limit("100/min burst 20"));
        assert_ne!(limit("6000/h burst 20"), limit("100/min burst 21"));
        assert_ne!(limit("6000/h burst 20"), limit("6000/h burst 20").without_debt());
    }
}

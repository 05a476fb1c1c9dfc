//! The cost of a request, in units.

use core::fmt;

/// The cost of a request in units; usually one, zero to peek.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u64);

impl Cost {
    /// Zero units: a peek.
    pub const ZERO: Self = Self(0);
    /// One unit.
    pub const ONE: Self = Self(1);
    /// The largest cost, 2^53 - 1: the largest whole number every client can write exactly.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// Creates a cost; an error above [`Cost::MAX`].
    pub const fn new(units: u64) -> Result<Self, CostTooLarge> {
        if units > Self::MAX.0 { Err(CostTooLarge { units }) } else { Ok(Self(units)) }
    }

    /// Returns the number of units.
    pub const fn units(self) -> u64 {
        self.0
    }
}

impl From<u32> for Cost {
    fn from(units: u32) -> Self {
        Self(u64::from(units))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A cost above [`Cost::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostTooLarge {
    units: u64,
}

impl fmt::Display for CostTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a cost of {} units is too large; use at most {}", self.units, Cost::MAX)
    }
}

impl core::error::Error for CostTooLarge {}

//! How a store in memory is made.

use core::fmt;

use super::hash::HashKey;
use super::records::Records;
use super::sync::AtomicU64;
use super::table::Table;
use super::word::Epoch;
use super::{Memory, machine};
use crate::clock::{Clock, SystemClock};

/// How a store in memory is made.
///
/// ```
/// use sluicegate::{Limiter, MemoryOptions};
///
/// let store = MemoryOptions::new().max_bytes(256 << 20).build()?;
/// let limiter = Limiter::new(store);
///
/// let error = MemoryOptions::new().max_bytes(1000).build().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "cannot keep counters in 1000 bytes: use at least 1 MiB (1048576 bytes)",
/// );
/// # Ok::<(), sluicegate::MemoryError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MemoryOptions {
    max_bytes: usize,
}

/// Why a store in memory can not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryError {
    /// Too little to begin with.
    TooSmall {
        /// What was asked for.
        bytes: usize,
    },
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { bytes } => write!(
                f,
                "cannot keep counters in {bytes} bytes: use at least 1 MiB ({} bytes)",
                MemoryOptions::MIN_BYTES
            ),
        }
    }
}

impl std::error::Error for MemoryError {}

impl MemoryOptions {
    /// The least a store needs.
    pub const MIN_BYTES: usize = 1 << 20;
    /// What is used where the machine does not tell how much it has.
    const USUAL: u64 = 256 << 20;

    /// A store that takes up to a quarter of the memory of the machine, or of the container.
    pub fn new() -> Self {
        let quarter = machine::memory().map_or(Self::USUAL, |memory| memory / 4);
        let max_bytes = usize::try_from(quarter).unwrap_or(usize::MAX).max(Self::MIN_BYTES);
        Self { max_bytes }
    }

    /// Takes at most so many bytes for counters. It begins with less than 1 MiB and grows as they come;
    /// when there is no more, what has recovered goes first, then what matters least.
    #[must_use]
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes }
    }

    /// An empty store under the machine's clock.
    pub fn build(self) -> Result<Memory, MemoryError> {
        self.build_with(SystemClock::new())
    }

    /// An empty store under another clock.
    pub fn build_with<C: Clock>(self, clock: C) -> Result<Memory<C>, MemoryError> {
        Ok(self.checked()?.build_keyed(clock, HashKey::random()))
    }

    /// These options, if a store can be made of them.
    pub(super) fn checked(self) -> Result<Self, MemoryError> {
        if self.max_bytes < Self::MIN_BYTES {
            return Err(MemoryError::TooSmall { bytes: self.max_bytes });
        }
        Ok(self)
    }

    pub(super) fn build_keyed<C: Clock>(self, clock: C, key: HashKey) -> Memory<C> {
        // A quarter is left to counters that need records, however many others there are.
        let pages = self.max_bytes / 4 * 3 / Table::BYTES_PER_PAGE;
        Memory {
            table: Table::new(pages),
            records: Records::new(),
            key,
            epoch: Epoch::new(clock.now()),
            max_bytes: self.max_bytes,
            forgotten: AtomicU64::new(0),
            clock,
        }
    }
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self::new()
    }
}

//! The options of a memory store.

use core::fmt;

use super::fingerprint::HashKey;
use super::overflow::OverflowArena;
use super::sync::AtomicU64;
use super::table::Table;
use super::word::Epoch;
use super::{Memory, system_memory};
use crate::clock::{Clock, SystemClock};

/// The options of a memory store.
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

/// The error of a memory store that cannot be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryError {
    /// The limit is below the minimum.
    TooSmall {
        /// The limit given.
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
    /// The smallest limit.
    pub const MIN_BYTES: usize = 1 << 20;
    /// The default where the machine's memory is unknown.
    const USUAL: u64 = 256 << 20;

    /// A store that uses up to a quarter of the memory of the machine, or of the container.
    pub fn new() -> Self {
        let quarter = system_memory::memory().map_or(Self::USUAL, |memory| memory / 4);
        let max_bytes = usize::try_from(quarter).unwrap_or(usize::MAX).max(Self::MIN_BYTES);
        Self { max_bytes }
    }

    /// Limits the bytes for counters.
    ///
    /// The store begins with less than 1 MiB and grows with its counters; at the limit, recovered
    /// counters are evicted first, then the least valuable ones.
    #[must_use]
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes }
    }

    /// Creates an empty store on the system clock.
    pub fn build(self) -> Result<Memory, MemoryError> {
        self.build_with(SystemClock::new())
    }

    /// Creates an empty store on another clock.
    pub fn build_with<C: Clock>(self, clock: C) -> Result<Memory<C>, MemoryError> {
        Ok(self.checked()?.build_keyed(clock, HashKey::random()))
    }

    /// Returns these options if a store can be created with them.
    pub(super) fn checked(self) -> Result<Self, MemoryError> {
        if self.max_bytes < Self::MIN_BYTES {
            return Err(MemoryError::TooSmall { bytes: self.max_bytes });
        }
        Ok(self)
    }

    pub(super) fn build_keyed<C: Clock>(self, clock: C, key: HashKey) -> Memory<C> {
        // A quarter is reserved for counters that need records, however many others there are.
        let pages = self.max_bytes / 4 * 3 / Table::BYTES_PER_PAGE;
        Memory {
            table: Table::new(pages),
            records: OverflowArena::new(),
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

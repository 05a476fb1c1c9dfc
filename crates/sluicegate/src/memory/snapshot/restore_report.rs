//! The report of a restore.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use sluicegate_core::{Span, Time};

use super::read_error::SnapshotReadError;
use super::reader::SnapshotReader;
use super::restore::Load;
use crate::clock::{Clock, SystemClock};
use crate::memory::{Memory, MemoryError, MemoryOptions};

/// The report of a restore; displays as one line for the log.
#[derive(Debug)]
pub struct RestoreReport {
    path: Option<PathBuf>,
    counters: u64,
    taken: Option<Time>,
    /// The age of the snapshot, or its offset ahead of our clock.
    age: Span,
    ahead: Span,
    fault: Option<SnapshotReadError>,
}

impl RestoreReport {
    /// Returns the number of counters restored.
    pub fn counters(&self) -> u64 {
        self.counters
    }

    /// Returns when the snapshot was taken, by the clock of that time.
    ///
    /// `None` if nothing could be read.
    pub fn taken(&self) -> Option<Time> {
        self.taken
    }

    /// Returns how far the snapshot's clock was ahead of ours.
    ///
    /// All counters were shifted back by this much; otherwise none would recover before our clock
    /// has caught up.
    pub fn ahead(&self) -> Span {
        self.ahead
    }

    /// Returns why not all of it could be read; `None` if all was.
    pub fn fault(&self) -> Option<&SnapshotReadError> {
        self.fault.as_ref()
    }

    /// Returns whether all of it was read, or no snapshot existed yet.
    pub fn is_as_expected(&self) -> bool {
        matches!(self.fault, None | Some(SnapshotReadError::Absent))
    }

    fn nothing(fault: SnapshotReadError) -> Self {
        let (age, ahead) = (Span::ZERO, Span::ZERO);
        Self { path: None, counters: 0, taken: None, age, ahead, fault: Some(fault) }
    }
}

impl fmt::Display for RestoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.path.as_ref().map_or_else(
            || "the snapshot".to_owned(),
            |path| format!("the snapshot {}", path.display()),
        );
        if self.taken.is_none() {
            return match &self.fault {
                None | Some(SnapshotReadError::Absent) => {
                    write!(f, "{snapshot} is not there yet; starting empty")
                }
                Some(fault) => write!(
                    f,
                    "cannot restore {snapshot}: {fault}; starting empty, and the next snapshot \
                     replaces it"
                ),
            };
        }
        let counters = self.counters;
        let plural = if counters == 1 { "" } else { "s" };
        write!(f, "restored {counters} counter{plural} from {snapshot}, taken ")?;
        if self.ahead <= Span::CLOCK_SLACK {
            write!(f, "{} ago", whole_seconds(self.age))?;
        } else {
            let ahead = whole_seconds(self.ahead);
            write!(f, "{ahead} ahead of this machine's clock and moved back by that")?;
        }
        match &self.fault {
            None => Ok(()),
            Some(fault) => write!(f, "; the rest of it is lost and starts afresh: {fault}"),
        }
    }
}

fn whole_seconds(span: Span) -> Span {
    Span::from_secs(span.as_micros() / 1_000_000)
}

/// Large enough that reading does not wait for the operating system at every block.
const BUFFER: usize = 1 << 20;

impl MemoryOptions {
    /// Creates a store on the system clock from a file written by [`Memory::save`].
    ///
    /// As far as the file can be read; counters that have recovered meanwhile are omitted. A
    /// damaged file is not an error: [`RestoreReport`] describes in one line what was restored.
    ///
    /// ```
    /// use sluicegate::{Check, Limit, Limiter, MemoryOptions};
    ///
    /// # let folder = std::env::temp_dir().join(format!("sluicegate-doc-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("snapshot");
    /// let limit = Limit::token_bucket("api", "10/hour".parse()?)?;
    /// let (store, restored) = MemoryOptions::new().restore(&path)?;
    /// assert_eq!(restored.counters(), 0, "{restored}");
    /// let limiter = Limiter::new(store);
    /// for _ in 0..4 {
    ///     limiter.check(Check::new(&limit, "user:42")).now()?;
    /// }
    /// limiter.store().save(&path)?;
    ///
    /// let (store, restored) = MemoryOptions::new().restore(&path)?;
    /// assert_eq!(restored.counters(), 1, "{restored}");
    /// assert_eq!(Limiter::new(store).peek(&limit, "user:42").now()?.remaining(), 6);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(self, path: impl AsRef<Path>) -> Result<(Memory, RestoreReport), MemoryError> {
        self.restore_with(SystemClock::new(), path)
    }

    /// Restores a store on another clock.
    pub fn restore_with<C: Clock>(
        self,
        clock: C,
        path: impl AsRef<Path>,
    ) -> Result<(Memory<C>, RestoreReport), MemoryError> {
        let path = path.as_ref();
        let (store, mut restored) = match File::open(path) {
            Ok(file) => self.restore_from(clock, BufReader::with_capacity(BUFFER, file))?,
            Err(error) => (self.build_with(clock)?, RestoreReport::nothing(error.into())),
        };
        restored.path = Some(path.into());
        Ok((store, restored))
    }

    /// Restores a store from the output of [`Memory::save_to`], from any reader.
    pub fn restore_from<C: Clock>(
        self,
        clock: C,
        input: impl Read,
    ) -> Result<(Memory<C>, RestoreReport), MemoryError> {
        let (mut reader, header) = match SnapshotReader::begin(input) {
            Ok(begun) => begun,
            Err(fault) => return Ok((self.build_with(clock)?, RestoreReport::nothing(fault))),
        };
        let store = self.checked()?.build_keyed(clock, header.key);
        let now = store.clock.now();
        let mut load = Load::new(&store, &header, now);
        load.make_room(header.about);
        let fault = loop {
            match reader.block(|entry| load.keep(entry)) {
                Ok(true) => {}
                Ok(false) => break None,
                Err(fault) => break Some(fault),
            }
        };
        let restored = RestoreReport {
            path: None,
            counters: load.counters,
            taken: Some(header.taken),
            age: now.since(header.taken),
            ahead: header.taken.since(now),
            fault,
        };
        Ok((store, restored))
    }
}

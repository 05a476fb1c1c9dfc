//! What became of a snapshot at the start.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use sluicegate_core::{Span, Time};

use super::fault::SnapshotFault;
use super::load::Load;
use super::reader::Reader;
use crate::clock::{Clock, SystemClock};
use crate::memory::{Memory, MemoryError, MemoryOptions};

/// What became of a snapshot at the start. As text it is one line for the log.
#[derive(Debug)]
pub struct Restored {
    path: Option<PathBuf>,
    counters: u64,
    taken: Option<Time>,
    /// How old it is, or how far ahead of our clock.
    age: Span,
    ahead: Span,
    fault: Option<SnapshotFault>,
}

impl Restored {
    /// How many counters the store starts with.
    pub fn counters(&self) -> u64 {
        self.counters
    }

    /// When the snapshot was taken, by the clock it was taken under; `None` if nothing could be
    /// read.
    pub fn taken(&self) -> Option<Time> {
        self.taken
    }

    /// How far the clock of the snapshot was ahead of ours: by this much all counters were moved
    /// back. Otherwise nobody would recover before our clock has caught up.
    pub fn ahead(&self) -> Span {
        self.ahead
    }

    /// Why not all of it could be read; `None` if all was.
    pub fn fault(&self) -> Option<&SnapshotFault> {
        self.fault.as_ref()
    }

    /// Whether nothing is wrong: all was read, or there has not been a snapshot yet.
    pub fn is_as_expected(&self) -> bool {
        matches!(self.fault, None | Some(SnapshotFault::Absent))
    }

    fn nothing(fault: SnapshotFault) -> Self {
        let (age, ahead) = (Span::ZERO, Span::ZERO);
        Self { path: None, counters: 0, taken: None, age, ahead, fault: Some(fault) }
    }
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.path.as_ref().map_or_else(
            || "the snapshot".to_owned(),
            |path| format!("the snapshot {}", path.display()),
        );
        if self.taken.is_none() {
            return match &self.fault {
                None | Some(SnapshotFault::Absent) => {
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

/// Enough that reading does not wait for the operating system at every block.
const BUFFER: usize = 1 << 20;

impl MemoryOptions {
    /// A store under the machine's clock that starts with what [`Memory::save`] has written, as
    /// far as that can be read. What has recovered meanwhile is left out.
    ///
    /// Whatever is the matter with the file, there is a store; [`Restored`] says in one line what
    /// it starts with.
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
    pub fn restore(self, path: impl AsRef<Path>) -> Result<(Memory, Restored), MemoryError> {
        self.restore_with(SystemClock::new(), path)
    }

    /// The same under another clock.
    pub fn restore_with<C: Clock>(
        self,
        clock: C,
        path: impl AsRef<Path>,
    ) -> Result<(Memory<C>, Restored), MemoryError> {
        let path = path.as_ref();
        let (store, mut restored) = match File::open(path) {
            Ok(file) => self.restore_from(clock, BufReader::with_capacity(BUFFER, file))?,
            Err(error) => (self.build_with(clock)?, Restored::nothing(error.into())),
        };
        restored.path = Some(path.into());
        Ok((store, restored))
    }

    /// A store that starts with what [`Memory::save_to`] has written, wherever it comes from.
    pub fn restore_from<C: Clock>(
        self,
        clock: C,
        input: impl Read,
    ) -> Result<(Memory<C>, Restored), MemoryError> {
        let (mut reader, header) = match Reader::begin(input) {
            Ok(begun) => begun,
            Err(fault) => return Ok((self.build_with(clock)?, Restored::nothing(fault))),
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
        let restored = Restored {
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

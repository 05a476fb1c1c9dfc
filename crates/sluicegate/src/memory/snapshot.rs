//! A store as a file, so that a restart does not hand everybody a new budget.
//!
//! A [save](Memory::save) copies one page of the table at a time, while others decide: newcomers
//! to that page wait for the copy, some microseconds, and nobody else does. Each counter is as it
//! was at some moment during the save. A page that is divided meanwhile may be met twice; what
//! comes later in the file is newer and counts.
//!
//! # The file
//!
//! All numbers are little-endian, all times are microseconds since 1970. First the header:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `SLUICEGT` |
//! | 4 | version of the format: 1 |
//! | 8 + 8 | the secret key of the store's hash |
//! | 8 | epoch: words tell their times from here on |
//! | 8 | the store's time when the save began |
//! | 8 | how many counters the store had then, about |
//! | 4 | CRC-32 of all this |
//!
//! Then blocks, each verified before anything in it is believed:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | kind: 1 words, 2 records, 3 the end |
//! | 4 | number of entries |
//! | 4 | length of the entries in bytes |
//! | 4 | CRC-32 of the three numbers before and of the entries |
//! | length | the entries |
//!
//! - A word: fingerprint (8), [word](super::word) without lock and generation (8).
//! - A record: fingerprint (8), mark (2), share used (2), when it is as good as none (8), length of
//!   the state (4), the state as [`State::encode`](sluicegate_core::State::encode) writes it.
//! - The end: how many entries there were in all (8). A file without it was cut short.

mod aside;
mod error;
mod fault;
mod format;
mod gather;
mod keeper;
mod load;
mod reader;
mod restored;
mod writer;

use std::io::{self, Write};
use std::path::Path;

use sluicegate_core::Time;

pub use self::error::SnapshotError;
pub use self::fault::SnapshotFault;
pub use self::keeper::Keeper;
pub use self::restored::Restored;

use self::aside::Aside;
use self::format::Header;
use self::gather::Gather;
use self::writer::Writer;
use super::Memory;
use crate::clock::Clock;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved {
    /// How many counters; what had recovered is left out.
    pub counters: u64,
    /// How many bytes they take up in the file.
    pub bytes: u64,
    /// The store's time when it was begun.
    pub taken: Time,
}

impl<C: Clock> Memory<C> {
    /// Writes all counters into a file, for [`MemoryOptions::restore`](crate::MemoryOptions::restore)
    /// to start with. Others may decide meanwhile.
    ///
    /// The file is written aside and put in place when it is complete: whatever happens, there is
    /// the one before or the new one. Only its owner may read it, because who knows the key of the
    /// hash could choose keys that meet.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<Saved, SnapshotError> {
        self.save_slowly(path.as_ref(), |_| {})
    }

    /// The same, with a rest after each page, of so many.
    fn save_slowly(&self, path: &Path, rest: impl FnMut(usize)) -> Result<Saved, SnapshotError> {
        let failed = |source| SnapshotError { path: path.into(), placed: false, source };
        let mut aside = Aside::create(path).map_err(failed)?;
        let saved = self.write(aside.file(), rest).map_err(failed)?;
        aside.put_in_place().map_err(failed)?;
        aside::make_last(path)
            .map_err(|source| SnapshotError { placed: true, ..failed(source) })?;
        Ok(saved)
    }

    /// Writes all counters, as [`save`](Memory::save) does, to wherever they are to go.
    pub fn save_to(&self, out: impl Write) -> io::Result<Saved> {
        self.write(out, |_| {})
    }

    fn write(&self, out: impl Write, mut rest: impl FnMut(usize)) -> io::Result<Saved> {
        let taken = self.clock.now();
        let about = u64::try_from(self.len()).unwrap_or(u64::MAX);
        let header = Header { key: self.key, epoch: self.epoch.time(), taken, about };
        let mut writer = Writer::begin(out, &header)?;
        let mut gather = Gather::new(self, taken);
        let mut page = 0;
        // Counted anew each time: a page that is divided sends half of its keys to the last one.
        while page < self.table.page_count() {
            gather.page(page, &mut writer)?;
            page += 1;
            rest(self.table.page_count());
        }
        let (counters, bytes) = writer.end()?;
        Ok(Saved { counters, bytes, taken })
    }
}

#[cfg(test)]
mod tests;

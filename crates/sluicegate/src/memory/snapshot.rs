//! Snapshots of a store in a file, so that a restart does not reset every budget.
//!
//! A [save](Memory::save) copies one page of the table at a time, concurrently with decisions:
//! only inserts into that page wait for the copy, some microseconds. Each counter is saved as of
//! some time during the save. The counters of a page that is split meanwhile may be saved twice;
//! the later entry in the file is newer and takes precedence.
//!
//! # The file
//!
//! All numbers are little-endian, all times are microseconds since 1970. First the header:
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `SLUICEGT` |
//! | 4 | version of the format: 1 |
//! | 8 + 8 | the secret key of the store's hash |
//! | 8 | epoch: the origin of the times in words |
//! | 8 | the store's time when the save began |
//! | 8 | the approximate number of counters at that time |
//! | 4 | CRC-32 of all this |
//!
//! Then blocks, each verified before any of it is used:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | kind: 1 words, 2 records, 3 the end |
//! | 4 | number of entries |
//! | 4 | length of the entries in bytes |
//! | 4 | CRC-32 of the three numbers before and of the entries |
//! | length | the entries |
//!
//! - A word: fingerprint (8), [word](super::word) without lock and generation (8).
//! - A record: fingerprint (8), limit tag (2), share used (2), the time at which it is equivalent
//!   to none (8), length of the state (4), the state as written by
//!   [`State::encode`](sluicegate_core::State::encode).
//! - The end: the total number of entries (8). A file without it was truncated.

mod atomic_file;
mod autosave;
mod collect;
mod format;
mod read_error;
mod reader;
mod restore;
mod restore_report;
mod write_error;
mod writer;

use std::io::{self, Write};
use std::path::Path;

use sluicegate_core::Time;

pub use self::autosave::Autosave;
pub use self::read_error::SnapshotReadError;
pub use self::restore_report::RestoreReport;
pub use self::write_error::SnapshotWriteError;

use self::atomic_file::AtomicFile;
use self::collect::StateCollector;
use self::format::SnapshotHeader;
use self::writer::Writer;
use super::Memory;
use crate::clock::Clock;

/// The report of a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SaveReport {
    /// The number of counters; recovered ones are omitted.
    pub counters: u64,
    /// Their size in the file in bytes.
    pub bytes: u64,
    /// The store's time at the start of the save.
    pub taken: Time,
}

impl<C: Clock> Memory<C> {
    /// Writes all counters to a file, concurrently with decisions.
    ///
    /// [`MemoryOptions::restore`](crate::MemoryOptions::restore) starts from it.
    ///
    /// The file is written under a temporary name and then renamed, so that after a failure at any
    /// point there is the previous snapshot or the new one. Only its owner may read it, because
    /// knowledge of the hash key would allow choosing keys that collide.
    /// hash could choose keys that meet.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<SaveReport, SnapshotWriteError> {
        self.save_slowly(path.as_ref(), |_| {})
    }

    /// Saves with a rest after each page, given by `rest`.
    fn save_slowly(
        &self,
        path: &Path,
        rest: impl FnMut(usize),
    ) -> Result<SaveReport, SnapshotWriteError> {
        let failed = |source| SnapshotWriteError { path: path.into(), placed: false, source };
        let mut aside = AtomicFile::create(path).map_err(failed)?;
        let saved = self.write(aside.file(), rest).map_err(failed)?;
        aside.put_in_place().map_err(failed)?;
        atomic_file::make_last(path)
            .map_err(|source| SnapshotWriteError { placed: true, ..failed(source) })?;
        Ok(saved)
    }

    /// Writes all counters, as [`save`](Memory::save) does, to a writer.
    pub fn save_to(&self, out: impl Write) -> io::Result<SaveReport> {
        self.write(out, |_| {})
    }

    fn write(&self, out: impl Write, mut rest: impl FnMut(usize)) -> io::Result<SaveReport> {
        let taken = self.clock.now();
        let about = u64::try_from(self.len()).unwrap_or(u64::MAX);
        let header = SnapshotHeader { key: self.key, epoch: self.epoch.time(), taken, about };
        let mut writer = Writer::begin(out, &header)?;
        let mut gather = StateCollector::new(self, taken);
        let mut page = 0;
        // Evaluated each time: a split moves half of a page's keys to a new last page.
        while page < self.table.page_count() {
            gather.page(page, &mut writer)?;
            page += 1;
            rest(self.table.page_count());
        }
        let (counters, bytes) = writer.end()?;
        Ok(SaveReport { counters, bytes, taken })
    }
}

#[cfg(test)]
mod tests;

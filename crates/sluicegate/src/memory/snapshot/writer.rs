//! The writer of snapshots, block by block.

use std::io::{self, Write};

use super::format::{BlockHead, END, RECORDS, SnapshotHeader, WORDS};
use crate::memory::fingerprint::Fingerprint;
use crate::memory::overflow::OverflowState;
use crate::memory::word::{LimitTag, Word};

/// The size at which a block of records is written.
const ENOUGH: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Writer<W> {
    out: W,
    words: Block,
    records: Block,
    entries: u64,
    bytes: u64,
}

/// A block that is being filled.
#[derive(Debug)]
struct Block {
    kind: u32,
    entries: usize,
    bytes: Vec<u8>,
}

impl Block {
    const fn new(kind: u32) -> Self {
        Self { kind, entries: 0, bytes: Vec::new() }
    }
}

impl<W: Write> Writer<W> {
    pub(super) fn begin(mut out: W, header: &SnapshotHeader) -> io::Result<Self> {
        let header = header.encode();
        out.write_all(&header)?;
        let bytes = header.len() as u64;
        Ok(Self { out, words: Block::new(WORDS), records: Block::new(RECORDS), entries: 0, bytes })
    }

    pub(super) fn word(&mut self, name: Fingerprint, word: Word) {
        self.words.entries += 1;
        self.words.bytes.extend(name.bits().to_le_bytes());
        self.words.bytes.extend(word.for_snapshot().bits().to_le_bytes());
    }

    /// Only buffers the entry, because the counter is locked.
    pub(super) fn record(
        &mut self,
        name: Fingerprint,
        limit_tag: LimitTag,
        record: &OverflowState,
    ) {
        let bytes = &mut self.records.bytes;
        bytes.extend(name.bits().to_le_bytes());
        bytes.extend(u16::try_from(limit_tag.bits()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend(record.share.to_le_bytes());
        bytes.extend(record.recovered_at.as_micros().to_le_bytes());
        let length_at = bytes.len();
        bytes.extend([0; 4]);
        record.state.encode(bytes);
        let length = bytes.len() - length_at - 4;
        let length = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        bytes[length_at..length_at + 4].copy_from_slice(&length);
        self.records.entries += 1;
    }

    /// Writes the records so far, if they are enough for a block.
    pub(super) fn write_full(&mut self) -> io::Result<()> {
        if self.records.bytes.len() < ENOUGH { Ok(()) } else { self.flush() }
    }

    /// Writes all entries so far.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        for block in [&mut self.words, &mut self.records] {
            if block.entries == 0 {
                continue;
            }
            self.bytes += write(&mut self.out, block.kind, block.entries, &block.bytes)?;
            self.entries += block.entries as u64;
            block.entries = 0;
            block.bytes.clear();
        }
        Ok(())
    }

    /// Writes the end; returns the numbers of entries and of bytes.
    pub(super) fn end(mut self) -> io::Result<(u64, u64)> {
        self.flush()?;
        self.bytes += write(&mut self.out, END, 0, &self.entries.to_le_bytes())?;
        self.out.flush()?;
        Ok((self.entries, self.bytes))
    }
}

fn write(out: &mut impl Write, kind: u32, entries: usize, bytes: &[u8]) -> io::Result<u64> {
    let head = BlockHead::of(kind, entries, bytes)
        .ok_or_else(|| io::Error::other("one counter alone takes up more than 4 GiB"))?;
    out.write_all(&head.encode())?;
    out.write_all(bytes)?;
    Ok((BlockHead::BYTES + bytes.len()) as u64)
}

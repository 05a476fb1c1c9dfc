//! The reader of snapshots, block by block.
//!
//! Accepts any input: nothing is used before it is verified, and no memory is allocated for
//! entries that are not there.

use std::io::Read;

use sluicegate_core::{State, Time};

use super::format::{BlockHead, END, FieldReader, RECORDS, SnapshotHeader, WORD_BYTES, WORDS};
use super::read_error::SnapshotReadError;
use crate::memory::fingerprint::Fingerprint;
use crate::memory::word::{LimitTag, Word};

#[derive(Debug)]
pub(super) struct SnapshotReader<R> {
    input: R,
    block: Vec<u8>,
    /// The number of entries in all blocks so far.
    entries: u64,
}

/// One counter.
#[derive(Debug)]
pub(super) enum SnapshotEntry {
    Word {
        name: Fingerprint,
        word: Word,
    },
    OverflowState {
        name: Fingerprint,
        limit_tag: LimitTag,
        share: u16,
        recovered_at: Time,
        state: State,
    },
}

impl<R: Read> SnapshotReader<R> {
    pub(super) fn begin(mut input: R) -> Result<(Self, SnapshotHeader), SnapshotReadError> {
        let mut bytes = Vec::with_capacity(SnapshotHeader::BYTES);
        input.by_ref().take(SnapshotHeader::BYTES as u64).read_to_end(&mut bytes)?;
        let header = SnapshotHeader::decode(&bytes)?;
        Ok((Self { input, block: Vec::new(), entries: 0 }, header))
    }

    /// Passes the entries of the next block to `keep`; returns whether there was a block.
    ///
    /// `false` means that the whole file has been read.
    pub(super) fn block(
        &mut self,
        keep: impl FnMut(SnapshotEntry),
    ) -> Result<bool, SnapshotReadError> {
        let mut head = [0; BlockHead::BYTES];
        self.input.read_exact(&mut head)?;
        let head = BlockHead::decode(head).ok_or(SnapshotReadError::Damaged)?;
        self.block.clear();
        self.input.by_ref().take(head.length.into()).read_to_end(&mut self.block)?;
        if self.block.len() < head.length as usize {
            return Err(SnapshotReadError::CutShort);
        }
        if head.checksum_with(&self.block) != head.checksum {
            return Err(SnapshotReadError::Damaged);
        }
        let mut fields = FieldReader { left: &self.block };
        let read = match head.kind {
            WORDS => words(fields, head.entries, keep),
            RECORDS => records(fields, head.entries, keep),
            END => {
                let all = fields.u64() == Some(self.entries);
                return if all { Ok(false) } else { Err(SnapshotReadError::Damaged) };
            }
            _ => None,
        };
        read.ok_or(SnapshotReadError::Damaged)?;
        self.entries += u64::from(head.entries);
        Ok(true)
    }
}

fn words(
    mut fields: FieldReader<'_>,
    entries: u32,
    mut keep: impl FnMut(SnapshotEntry),
) -> Option<()> {
    if fields.left.len() != entries as usize * WORD_BYTES {
        return None;
    }
    while !fields.left.is_empty() {
        let (name, word) = (name(&mut fields)?, Word::from_bits(fields.u64()?));
        // Only words without a lock or a record are ever written here.
        if word.for_snapshot() != word || !word.is_ready() || word.is_vacant() {
            return None;
        }
        keep(SnapshotEntry::Word { name, word });
    }
    Some(())
}

fn records(
    mut fields: FieldReader<'_>,
    entries: u32,
    mut keep: impl FnMut(SnapshotEntry),
) -> Option<()> {
    for _ in 0..entries {
        let name = name(&mut fields)?;
        let limit_tag = LimitTag::from_bits(fields.u16()?.into());
        let (share, recovered_at) = (fields.u16()?, Time::from_micros(fields.u64()?));
        let length = fields.u32()?;
        let mut bytes = fields.slice(length as usize)?;
        let state = State::decode(&mut bytes).ok().filter(|_| bytes.is_empty())?;
        keep(SnapshotEntry::OverflowState { name, limit_tag, share, recovered_at, state });
    }
    fields.left.is_empty().then_some(())
}

fn name(fields: &mut FieldReader<'_>) -> Option<Fingerprint> {
    let bits = fields.u64()?;
    (bits != 0).then(|| Fingerprint::new(bits))
}

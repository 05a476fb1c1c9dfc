//! The binary format of snapshots.

use sluicegate_core::Time;

use super::read_error::SnapshotReadError;
use crate::memory::fingerprint::HashKey;

pub(super) const MAGIC: [u8; 8] = *b"SLUICEGT";
pub(super) const VERSION: u32 = 1;

pub(super) const WORDS: u32 = 1;
pub(super) const RECORDS: u32 = 2;
pub(super) const END: u32 = 3;

/// A fingerprint and its word.
pub(super) const WORD_BYTES: usize = 16;

/// The header of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SnapshotHeader {
    pub(super) key: HashKey,
    pub(super) epoch: Time,
    pub(super) taken: Time,
    /// The approximate number of counters.
    pub(super) about: u64,
}

impl SnapshotHeader {
    pub(super) const BYTES: usize = 56;

    pub(super) fn encode(&self) -> Vec<u8> {
        let Self { key, epoch, taken, about } = self;
        let mut bytes = Vec::with_capacity(Self::BYTES);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        for number in [key.first, key.second, epoch.as_micros(), taken.as_micros(), *about] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, SnapshotReadError> {
        let mut fields = FieldReader { left: bytes };
        if fields.chunk().ok_or(SnapshotReadError::CutShort)? != MAGIC {
            return Err(SnapshotReadError::Foreign);
        }
        // Before the checksum, whose position may differ in another version.
        let found = fields.u32().ok_or(SnapshotReadError::CutShort)?;
        if found != VERSION {
            return Err(SnapshotReadError::Version { found });
        }
        if bytes.len() < Self::BYTES {
            return Err(SnapshotReadError::CutShort);
        }
        Self::verified(bytes, fields).ok_or(SnapshotReadError::Header)
    }

    fn verified(bytes: &[u8], mut fields: FieldReader<'_>) -> Option<Self> {
        let key = HashKey { first: fields.u64()?, second: fields.u64()? };
        let (epoch, taken) = (Time::from_micros(fields.u64()?), Time::from_micros(fields.u64()?));
        let about = fields.u64()?;
        let checksum = crc32fast::hash(&bytes[..bytes.len() - fields.left.len()]);
        (fields.u32()? == checksum).then_some(Self { key, epoch, taken, about })
    }
}

/// The header of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockHead {
    pub(super) kind: u32,
    pub(super) entries: u32,
    pub(super) length: u32,
    pub(super) checksum: u32,
}

impl BlockHead {
    pub(super) const BYTES: usize = 16;

    /// Returns the header of these entries; `None` if they are too many for one block.
    pub(super) fn of(kind: u32, entries: usize, bytes: &[u8]) -> Option<Self> {
        let (entries, length) = (entries.try_into().ok()?, bytes.len().try_into().ok()?);
        let head = Self { kind, entries, length, checksum: 0 };
        Some(Self { checksum: head.checksum_with(bytes), ..head })
    }

    pub(super) fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let numbers = [self.kind, self.entries, self.length, self.checksum];
        for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    pub(super) fn decode(bytes: [u8; Self::BYTES]) -> Option<Self> {
        let mut fields = FieldReader { left: &bytes };
        Some(Self {
            kind: fields.u32()?,
            entries: fields.u32()?,
            length: fields.u32()?,
            checksum: fields.u32()?,
        })
    }

    /// Returns the checksum of this header with these entries.
    pub(super) fn checksum_with(&self, entries: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.encode()[..12]);
        hasher.update(entries);
        hasher.finalize()
    }
}

/// The bytes that are left to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldReader<'a> {
    pub(super) left: &'a [u8],
}

impl<'a> FieldReader<'a> {
    pub(super) fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, left) = self.left.split_first_chunk()?;
        self.left = left;
        Some(*chunk)
    }

    pub(super) fn slice(&mut self, length: usize) -> Option<&'a [u8]> {
        let (slice, left) = self.left.split_at_checked(length)?;
        self.left = left;
        Some(slice)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.chunk().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.chunk().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.chunk().map(u64::from_le_bytes)
    }
}

//! Reads the parts of a state, each within its range.

use core::ops::RangeInclusive;

use super::StateError;
use crate::receipt::ChargeId;
use crate::varint;

/// The bytes that are left to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct StateReader<'a> {
    pub(super) left: &'a [u8],
}

impl StateReader<'_> {
    pub(super) fn byte(&mut self) -> Result<u8, StateError> {
        self.left.split_off_first().copied().ok_or(StateError::Incomplete)
    }

    /// Reads a number within a range.
    pub(super) fn number_in(
        &mut self,
        part: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<u64, StateError> {
        let found = varint::read(&mut self.left)?;
        let (least, most) = range.into_inner();
        if (least..=most).contains(&found) {
            Ok(found)
        } else {
            Err(StateError::OutOfRange { part, found, least, most })
        }
    }

    /// Reads a count of items that take at least `bytes_each` bytes.
    ///
    /// Never more than the remaining bytes can hold.
    pub(super) fn count(
        &mut self,
        part: &'static str,
        range: RangeInclusive<u64>,
        bytes_each: usize,
    ) -> Result<usize, StateError> {
        let count = self.number_in(part, range)?;
        let room = self.left.len() / bytes_each;
        usize::try_from(count).ok().filter(|count| *count <= room).ok_or(StateError::Incomplete)
    }

    /// Reads an id: 16 bytes, the highest first.
    pub(super) fn id(&mut self) -> Result<ChargeId, StateError> {
        let (bits, left) = self.left.split_first_chunk().ok_or(StateError::Incomplete)?;
        self.left = left;
        Ok(ChargeId::from_bits(u128::from_be_bytes(*bits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_limited_by_the_bytes_available() {
        let counted = |bytes: &[u8]| StateReader { left: bytes }.count("things", 0..=9, 2);
        assert_eq!(counted(&[2, 0, 0, 0, 0]), Ok(2));
        assert_eq!(counted(&[3, 0, 0, 0, 0, 0]), Err(StateError::Incomplete));
        let too_many = StateError::OutOfRange { part: "things", found: 10, least: 0, most: 9 };
        assert_eq!(counted(&[10]), Err(too_many));
    }
}

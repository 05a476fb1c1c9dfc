//! LEB128 numbers: seven bits to a byte, lowest first, the high bit set on all but the last.

use core::ops::RangeInclusive;

use super::StateError;
use crate::receipt::ChargeId;

const MORE: u8 = 0x80;

/// Appends a number.
#[allow(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        out.push(number as u8 | MORE);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The bytes that are left to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct VarintReader<'a> {
    pub(super) left: &'a [u8],
}

impl VarintReader<'_> {
    pub(super) fn byte(&mut self) -> Result<u8, StateError> {
        self.left.split_off_first().copied().ok_or(StateError::Incomplete)
    }

    /// Reads a number, which has only one valid encoding: the shortest.
    pub(super) fn number(&mut self) -> Result<u64, StateError> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & !MORE);
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                return Err(StateError::Misspelled);
            }
            number |= bits << shift;
            if byte & MORE == 0 {
                return Ok(number);
            }
        }
        Err(StateError::Misspelled)
    }

    /// Reads a number within a range.
    pub(super) fn number_in(
        &mut self,
        part: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<u64, StateError> {
        let found = self.number()?;
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
    fn numbers_are_read_as_they_were_written() {
        let known: [(u64, &[u8]); 6] = [
            (0, &[0]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (300, &[0xac, 2]),
            (1 << 63, &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]),
            (u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        ];
        for (number, bytes) in known {
            let mut out = Vec::new();
            put(&mut out, number);
            assert_eq!(out, bytes);
            assert_eq!(VarintReader { left: bytes }.number(), Ok(number));
        }
    }

    #[test]
    fn a_number_has_one_encoding() {
        let misspelled: [&[u8]; 4] = [
            &[0x80, 0],
            &[0xff, 0],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
            &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81, 0],
        ];
        for bytes in misspelled {
            assert_eq!(
                VarintReader { left: bytes }.number(),
                Err(StateError::Misspelled),
                "{bytes:?}"
            );
        }
        for bytes in [&[][..], &[0x80], &[0xff, 0xff]] {
            assert_eq!(
                VarintReader { left: bytes }.number(),
                Err(StateError::Incomplete),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn a_count_is_limited_by_the_bytes_available() {
        let counted = |bytes: &[u8]| VarintReader { left: bytes }.count("things", 0..=9, 2);
        assert_eq!(counted(&[2, 0, 0, 0, 0]), Ok(2));
        assert_eq!(counted(&[3, 0, 0, 0, 0, 0]), Err(StateError::Incomplete));
        let too_many = StateError::OutOfRange { part: "things", found: 10, least: 0, most: 9 };
        assert_eq!(counted(&[10]), Err(too_many));
    }
}

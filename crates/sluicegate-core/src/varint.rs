//! LEB128 numbers: seven bits to a byte, lowest first, the high bit set on all but the last.
//!
//! The encoding of numbers in states and keys; Protocol Buffers have the same.

use crate::state::StateError;

const MORE: u8 = 0x80;

/// Appends a number.
pub fn put(out: &mut impl Extend<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        out.extend([number.to_le_bytes()[0] | MORE]);
        number >>= 7;
    }
    out.extend([number.to_le_bytes()[0]]);
}

/// Reads the number at the start of `bytes`, and removes it from them.
///
/// It has only one valid encoding: the shortest.
///
/// ```
/// use sluicegate_core::varint;
///
/// let mut bytes = &[0xac, 0x02, 7][..];
/// assert_eq!(varint::read(&mut bytes), Ok(300));
/// assert_eq!(bytes, [7]);
/// ```
pub fn read(bytes: &mut &[u8]) -> Result<u64, StateError> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = *bytes.split_off_first().ok_or(StateError::Incomplete)?;
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
        for (number, mut bytes) in known {
            let mut out = Vec::new();
            put(&mut out, number);
            assert_eq!(out, bytes);
            assert_eq!(read(&mut bytes), Ok(number));
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
        for mut bytes in misspelled {
            assert_eq!(read(&mut bytes), Err(StateError::Misspelled), "{bytes:?}");
        }
        for mut bytes in [&[][..], &[0x80], &[0xff, 0xff]] {
            assert_eq!(read(&mut bytes), Err(StateError::Incomplete), "{bytes:?}");
        }
    }
}

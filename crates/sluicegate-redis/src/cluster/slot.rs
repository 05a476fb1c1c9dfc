//! Computes the slot of a cluster that a key is in.

/// Number of slots of a cluster.
pub(crate) const SLOTS: u16 = 16_384;

/// The slot of a hash tag (the text in the braces of a key): its CRC-16 (XMODEM), as in every
/// cluster.
pub(crate) fn of(tag: impl IntoIterator<Item = u8>) -> u16 {
    let crc = tag.into_iter().fold(0_u16, |crc, byte| {
        let [high, low] = crc.to_be_bytes();
        u16::from(low) << 8 ^ REMAINDERS[usize::from(high ^ byte)]
    });
    crc % SLOTS
}

/// The CRC of each byte.
const REMAINDERS: [u16; 256] = {
    const POLYNOMIAL: u16 = 0x1021;
    let mut remainders = [0; 256];
    let (mut byte, mut start) = (0, 0_u16);
    while byte < 256 {
        let (mut crc, mut bit) = (start, 0);
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ POLYNOMIAL };
            bit += 1;
        }
        remainders[byte] = crc;
        (byte, start) = (byte + 1, start.wrapping_add(0x100));
    }
    remainders
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values are from `CLUSTER KEYSLOT`.
    #[test]
    fn slots_match_cluster_keyslot() {
        for (tag, slot) in [("123456789", 12_739), ("foo", 12_182), ("user1000", 3_443), ("", 0)] {
            assert_eq!(of(tag.bytes()), slot, "{tag}");
        }
    }
}

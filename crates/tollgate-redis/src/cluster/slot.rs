//! Which slot of a cluster a key is in.

/// How many slots a cluster has.
pub(crate) const SLOTS: u16 = 16_384;

/// The slot of what stands between the braces of a key: its CRC-16 (XMODEM), as every cluster has it.
pub(crate) fn of(tag: impl IntoIterator<Item = u8>) -> u16 {
    const POLYNOMIAL: u16 = 0x1021;
    let crc = tag.into_iter().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ POLYNOMIAL }
        })
    });
    crc % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `CLUSTER KEYSLOT` says.
    #[test]
    fn slots_are_what_every_cluster_says() {
        for (tag, slot) in [("123456789", 12_739), ("foo", 12_182), ("user1000", 3_443), ("", 0)] {
            assert_eq!(of(tag.bytes()), slot, "{tag}");
        }
    }
}

//! The digest of a limit's name.

/// FNV-1a in 64 bits, then the finaliser of `SplitMix64`, which spreads the entropy that FNV
/// leaves in the low bits.
///
/// Implemented here rather than taken from a library because it must never change.
pub(super) fn of(name: &[u8]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let fnv = name.iter().fold(BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    let mixed = (fnv ^ (fnv >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::limit::Limit;

    /// Computed independently of the code: a changed digest would orphan stored counters.
    #[test]
    fn digests_are_stable() {
        let known = [
            ("a", 0x02c0_bdbf_4814_20f8),
            ("api", 0xef7e_592e_1942_ca4f),
            ("login", 0x3a26_da94_3c45_677d),
        ];
        for (name, digest) in known {
            assert_eq!(of(name.as_bytes()), digest, "{name}");
        }
    }

    #[test]
    fn a_limit_has_the_digest_of_its_name_and_of_nothing_else() {
        let quota = "5/min".parse().unwrap();
        let limit = Limit::token_bucket("api", quota).unwrap();
        assert_eq!(limit.name_digest(), of(b"api"));
        assert_eq!(limit.clone().without_debt().name_digest(), limit.name_digest());
        let window = Limit::fixed_window(String::from("api"), quota).unwrap();
        assert_eq!(window.name_digest(), limit.name_digest());
    }
}

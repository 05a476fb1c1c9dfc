//! Random callers.

/// The default number of callers.
pub(crate) const CALLERS: usize = 100_000;

/// The key of a caller; `redis-benchmark` writes numbers in the same way.
pub(crate) fn key(caller: usize) -> String {
    format!("user:{caller:012}")
}

/// A pseudo-random generator (`SplitMix64`).
pub(crate) struct BenchRng(u64);

impl BenchRng {
    pub(crate) fn new(seed: usize) -> Self {
        Self(seed as u64)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(mixed ^ (mixed >> 31)) * end as u128) >> 64) as usize
    }
}

//! Deterministic pseudo-random numbers.

use sluicegate_testkit::Rng;

/// A generator of pseudo-random numbers.
pub(crate) struct Random(Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// A number below another.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.index(end)
    }

    /// One of several, if there are any.
    pub(crate) fn one_of<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    /// Random bytes, with problematic characters more often than others.
    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        const MISCHIEF: &[u8] = b"aaab:/,|=;\"'\\~@\x01\x02\x03\x1f \xff\x80";
        let byte = |random: &mut Self| match random.below(3) {
            0 => u8::try_from(1 + random.below(255)).unwrap_or(1),
            _ => *random.one_of(MISCHIEF).unwrap_or(&b'a'),
        };
        (0..length).map(|_| byte(self)).collect()
    }
}

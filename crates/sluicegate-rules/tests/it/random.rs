//! Numbers that look random and are the same every time.

/// A generator that starts from a number of its own.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below another.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % end.max(1)
    }

    /// One of several, if there are any.
    pub(crate) fn one_of<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    /// So many bytes, from letters that make mischief more often than others.
    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        const MISCHIEF: &[u8] = b"aaab:/,|=;\"'\\~@\x01\x02\x03\x1f \xff\x80";
        let byte = |random: &mut Self| match random.below(3) {
            0 => u8::try_from(1 + random.below(255)).unwrap_or(1),
            _ => *random.one_of(MISCHIEF).unwrap_or(&b'a'),
        };
        (0..length).map(|_| byte(self)).collect()
    }
}

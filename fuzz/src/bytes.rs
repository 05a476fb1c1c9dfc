//! Numbers decoded from bytes, small ones more often than large ones.

/// The rest of an input. Reading beyond its end gives zeros.
#[derive(Debug)]
pub struct Bytes<'a> {
    left: &'a [u8],
}

impl<'a> Bytes<'a> {
    /// Reads from the start of `data`.
    pub const fn new(data: &'a [u8]) -> Self {
        Self { left: data }
    }

    /// Returns whether everything has been read.
    pub const fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Returns the next byte.
    pub fn byte(&mut self) -> u8 {
        self.left.split_off_first().copied().unwrap_or(0)
    }

    /// Returns an index below `count`.
    pub fn choice(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    /// Returns a number from 0 to `most`.
    ///
    /// Most are small or next to a power of two or ten: arithmetic goes wrong there, and counters
    /// collide.
    pub fn number(&mut self, most: u64) -> u64 {
        let number = match self.byte() {
            small @ 0..128 => u64::from(small),
            128..160 => self.little_endian(2),
            160..192 => self.little_endian(4),
            192..208 => self.little_endian(8),
            tens @ 208..224 => 10_u64.pow(u32::from(tens - 208)),
            twos @ 224.. => {
                let power = 1_u64 << (u32::from(twos - 224) + 24);
                let near = u64::from(self.byte());
                if near < 128 { power + near } else { power - (256 - near) }
            }
        };
        if number <= most { number } else { number % (most + 1) }
    }

    fn little_endian(&mut self, bytes: u32) -> u64 {
        (0..bytes).fold(0, |number, index| number | u64::from(self.byte()) << (8 * index))
    }
}

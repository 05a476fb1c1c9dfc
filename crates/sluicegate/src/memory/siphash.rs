//! SipHash-1-3: a keyed hash that resists chosen keys, and that never changes.
//!
//! Implemented here because it is most of the cost of a check: the whole state stays in registers,
//! where a general-purpose hasher keeps it in memory (85 instructions for a key of 15 bytes
//! instead of 190).

/// Returns the hash of some bytes under a key of two halves.
#[inline(always)]
pub(super) fn siphash13(first: u64, second: u64, bytes: &[u8]) -> u64 {
    let mut state = [
        first ^ 0x736f_6d65_7073_6575,
        second ^ 0x646f_7261_6e64_6f6d,
        first ^ 0x6c79_6765_6e65_7261,
        second ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        absorb(&mut state, u64::from_le_bytes(*word));
    }
    absorb(&mut state, last_word(rest) | (bytes.len() as u64) << 56);
    state[2] ^= 0xFF;
    for _ in 0..3 {
        round(&mut state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

/// Returns up to seven bytes as a word, in three reads at most.
#[inline]
fn last_word(rest: &[u8]) -> u64 {
    if let (Some(head), Some(tail)) = (rest.first_chunk(), rest.last_chunk()) {
        // Four bytes from the front and four from the back, which may overlap.
        let shift = (rest.len() - 4) * 8;
        return u64::from(u32::from_le_bytes(*head))
            | u64::from(u32::from_le_bytes(*tail)) << shift;
    }
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[inline]
fn absorb(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    round(state);
    state[0] ^= word;
}

#[inline]
fn round(state: &mut [u64; 4]) {
    let [a, b, c, d] = state;
    *a = a.wrapping_add(*b);
    *b = b.rotate_left(13) ^ *a;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*d);
    *d = d.rotate_left(16) ^ *c;
    *a = a.wrapping_add(*d);
    *d = d.rotate_left(21) ^ *a;
    *c = c.wrapping_add(*b);
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

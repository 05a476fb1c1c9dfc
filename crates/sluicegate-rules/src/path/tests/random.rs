//! A small generator, the same numbers on every run.

pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap();
        usize::try_from(self.next() % end).unwrap()
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    /// Up to `most` pieces, one behind the other.
    pub(super) fn text(&mut self, pieces: &[&str], most: usize) -> String {
        (0..self.below(most + 1)).map(|_| self.pick(pieces)).collect()
    }
}

/// A pattern of few words, so that patterns and paths often meet.
pub(super) fn pattern_text(random: &mut Random) -> String {
    const SEGMENTS: [&str; 12] =
        ["a", "a", "b", "ab", "*", "*", "**", "**", "a*", "*b", "a*b", "*a*a*"];
    let mut text = String::new();
    let mut names = 0;
    for _ in 0..random.below(6) {
        text.push('/');
        if random.below(6) == 0 {
            names += 1;
            text.extend(["{n", &names.to_string(), "}"]);
        } else {
            text.push_str(random.pick(&SEGMENTS));
        }
    }
    if text.is_empty() { "/".to_owned() } else { text }
}

/// A normal path of the same few words.
pub(super) fn path_text(random: &mut Random) -> String {
    const SEGMENTS: [&str; 9] = ["a", "a", "b", "ab", "abb", "aab", "ba", "c", "bab"];
    let text: String = (0..random.below(7)).flat_map(|_| ["/", random.pick(&SEGMENTS)]).collect();
    if text.is_empty() { "/".to_owned() } else { text }
}

//! Random patterns and paths.

use sluicegate_testkit::Rng;

/// Up to `most` pieces, concatenated.
pub(super) fn pieces(rng: &mut Rng, of: &[&str], most: usize) -> String {
    (0..rng.index(most + 1)).map(|_| *rng.pick(of)).collect()
}

/// A pattern of few words, so that patterns and paths often match.
pub(super) fn pattern_text(random: &mut Rng) -> String {
    const SEGMENTS: [&str; 12] =
        ["a", "a", "b", "ab", "*", "*", "**", "**", "a*", "*b", "a*b", "*a*a*"];
    let mut text = String::new();
    let mut names = 0;
    for _ in 0..random.index(6) {
        text.push('/');
        if random.index(6) == 0 {
            names += 1;
            text.extend(["{n", &names.to_string(), "}"]);
        } else {
            let segment = *random.pick(&SEGMENTS);
            text.push_str(segment);
        }
    }
    if text.is_empty() { "/".to_owned() } else { text }
}

/// A normal path of the same few words.
pub(super) fn path_text(random: &mut Rng) -> String {
    const SEGMENTS: [&str; 9] = ["a", "a", "b", "ab", "abb", "aab", "ba", "c", "bab"];
    let text: String = (0..random.index(7)).flat_map(|_| ["/", *random.pick(&SEGMENTS)]).collect();
    if text.is_empty() { "/".to_owned() } else { text }
}

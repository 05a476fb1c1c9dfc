//! Suggestions: the known word that is closest to an unknown one.

/// The largest distance of a suggestion.
const FAR: usize = 2;

/// Returns the word that `found` is most likely a misspelling of.
pub fn closest<'a>(found: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mask = mask(found);
    let near = words.into_iter().filter(|word| may_be_near((found, mask), word));
    let near = near.map(|word| (distance(found, word), word));
    near.filter(|(distance, _)| *distance <= FAR).min().map(|(_, word)| word)
}

/// The largest number of comparisons.
///
/// Thousands of unknown names and thousands of known ones would take long, and a report shows at
/// most a hundred errors.
const MOST: usize = 2_000_000;

/// Makes suggestions up to a total number of comparisons.
#[derive(Debug, Default)]
pub struct Suggester {
    compared: usize,
}

impl Suggester {
    /// Returns the closest word, or `None` after too many comparisons.
    pub fn closest<'a>(
        &mut self,
        found: &str,
        words: impl ExactSizeIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        self.compared = self.compared.saturating_add(words.len());
        if self.compared > MOST { None } else { closest(found, words) }
    }
}

/// Returns the set of ASCII letters and digits of a word as bits, ignoring case.
fn mask(word: &str) -> u64 {
    let bit = |byte: u8| (byte & 31) | ((byte & 64) >> 1);
    word.bytes().fold(0, |mask, byte| mask | u64::from(byte.is_ascii()) << bit(byte))
}

/// Whether two words may be close: a cheap filter that few pairs pass.
fn may_be_near((found, letters): (&str, u64), word: &str) -> bool {
    // A character has at most four bytes.
    if found.len().abs_diff(word.len()) > FAR * 4 {
        return false;
    }
    let own = mask(word);
    let few = |letters: u64| usize::try_from(letters.count_ones()).is_ok_and(|ones| ones <= FAR);
    // An edit changes at most one letter of each word.
    few(letters & !own) && few(own & !letters)
}

/// Returns the edit distance of two words, ignoring case, up to [`FAR`] + 1.
fn distance(found: &str, word: &str) -> usize {
    // Very different lengths decide at once, so that a long text is not compared.
    let length = found.chars().take(word.len() + FAR + 1).count();
    if length.abs_diff(word.chars().count()) > FAR {
        return FAR + 1;
    }
    let edits = strsim::levenshtein(&found.to_ascii_lowercase(), &word.to_ascii_lowercase());
    edits.min(FAR + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_close_words_only() {
        let words = ["key", "quota", "algorithm"];
        for (found, meant) in [
            ("qouta", Some("quota")),
            ("Quota", Some("quota")),
            ("quotas", Some("quota")),
            ("algoritm", Some("algorithm")),
            ("keys", Some("key")),
            ("", None),
            ("x", None),
            ("limit", None),
            ("quotaquota", None),
        ] {
            assert_eq!(closest(found, words), meant, "{found}");
        }
    }

    #[test]
    fn the_filter_rejects_only_distant_words() {
        let words = ["", "a", "ab", "ba", "abc", "Abc", "abcd", "xyz", "äb", "äöü", "aaaa", "key1"];
        for found in words {
            for word in words {
                let near = distance(found, word) <= FAR;
                assert!(!near || may_be_near((found, mask(found)), word), "{found} {word}");
            }
        }
        assert!(!may_be_near(("user", mask("user")), "tenant"));
    }

    #[test]
    fn suggestions_end_after_too_many_comparisons() {
        let words = ["limit", "quota"];
        let mut suggester = Suggester { compared: MOST - 2 * words.len() };
        for expected in [Some("limit"), Some("limit"), None, None] {
            assert_eq!(suggester.closest("limitt", words.into_iter()), expected);
        }
    }

    #[test]
    fn distances_count_single_letters() {
        for (found, word, letters) in
            [("", "", 0), ("ab", "ab", 0), ("ab", "b", 1), ("abc", "axc", 1), ("abcd", "badc", 3)]
        {
            assert_eq!(distance(found, word), letters, "{found} {word}");
        }
    }
}

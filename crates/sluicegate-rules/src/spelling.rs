//! "Did you mean": the known word closest to an unknown one.

/// Further apart than this, two words have nothing to do with each other.
const FAR: usize = 2;

/// The word that `found` is most likely a misspelling of.
pub fn closest<'a>(found: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mask = mask(found);
    let near = words.into_iter().filter(|word| may_be_near((found, mask), word));
    let near = near.map(|word| (distance(found, word), word));
    near.filter(|(distance, _)| *distance <= FAR).min().map(|(_, word)| word)
}

/// How many words are looked at before no more guesses are made: thousands of unknown names in a file
/// with thousands of known ones would take long, and nobody reads so many guesses.
const MOST: usize = 2_000_000;

/// Guesses, until there were too many.
#[derive(Debug, Default)]
pub(crate) struct Guesses {
    looked_at: usize,
}

impl Guesses {
    /// The word that `found` is most likely a misspelling of, out of so many.
    pub(crate) fn closest<'a>(
        &mut self,
        found: &str,
        words: impl ExactSizeIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        self.looked_at = self.looked_at.saturating_add(words.len());
        if self.looked_at > MOST { None } else { closest(found, words) }
    }
}

/// Which ASCII letters a word has, as bits: one for each letter in either case, and for each digit.
fn mask(word: &str) -> u64 {
    let bit = |byte: u8| (byte & 31) | ((byte & 64) >> 1);
    word.bytes().fold(0, |mask, byte| mask | u64::from(byte.is_ascii()) << bit(byte))
}

/// Whether two words are not surely far apart: cheap to ask, and true of few.
fn may_be_near((found, letters): (&str, u64), word: &str) -> bool {
    // A letter has four bytes at most.
    if found.len().abs_diff(word.len()) > FAR * 4 {
        return false;
    }
    let own = mask(word);
    let few = |letters: u64| usize::try_from(letters.count_ones()).is_ok_and(|ones| ones <= FAR);
    // What was put in, taken out or changed is one letter of each word at most.
    few(letters & !own) && few(own & !letters)
}

/// How many letters have to be put in, taken out or changed; [`FAR`] and one more stands for
/// all larger distances.
fn distance(found: &str, word: &str) -> usize {
    // Lengths that differ by more settle it, and keep a long text from being compared.
    let letters: Vec<char> = found.chars().take(word.len() + FAR + 1).collect();
    if letters.len().abs_diff(word.len()) > FAR {
        return FAR + 1;
    }
    // The distances from what was read of `found` so far to each beginning of `word`.
    let mut row: Vec<usize> = (0..=word.chars().count()).collect();
    for (read, letter) in letters.into_iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = read + 1;
        for (column, expected) in word.chars().enumerate() {
            let changed = diagonal + usize::from(!letter.eq_ignore_ascii_case(&expected));
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or(0).min(FAR + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
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
    fn what_is_passed_over_is_far() {
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
    fn guesses_end_when_there_were_too_many() {
        let words = ["limit", "quota"];
        let mut guesses = Guesses { looked_at: MOST - 2 * words.len() };
        for expected in [Some("limit"), Some("limit"), None, None] {
            assert_eq!(guesses.closest("limitt", words.into_iter()), expected);
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

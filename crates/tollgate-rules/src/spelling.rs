//! "Did you mean": the known word closest to an unknown one.

/// Further apart than this, two words have nothing to do with each other.
const FAR: usize = 2;

/// The word that `found` is most likely a misspelling of.
pub fn closest<'a>(found: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = words.into_iter().map(|word| (distance(found, word), word));
    near.filter(|(distance, _)| *distance <= FAR).min().map(|(_, word)| word)
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
    fn distances_count_single_letters() {
        for (found, word, letters) in
            [("", "", 0), ("ab", "ab", 0), ("ab", "b", 1), ("abc", "axc", 1), ("abcd", "badc", 3)]
        {
            assert_eq!(distance(found, word), letters, "{found} {word}");
        }
    }
}

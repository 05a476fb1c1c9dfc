//! Words that stand for program parts as if those were people.

use std::collections::BTreeMap;

use super::ratchet;
use super::scanner::prose;
use super::tree::files;

const WORDS: [&str; 11] = [
    "who", "whoever", "whom", "told", "nobody", "somebody", "anybody", "whatever", "in vain",
    "heard", "tells",
];

const WHY: &str = "Name the thing (the caller, the batch, the store) and use the field's verb \
                   (return, report, cache): readers search for these words";

#[test]
fn comments_and_texts_name_things() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in files(&["rs", "lua", "md", "yaml", "toml"]) {
        let comment = match source.path.rsplit('.').next() {
            Some("lua") => "--",
            Some("yaml" | "toml") => "#",
            // All of a document is prose.
            Some("md") => "",
            _ => "//",
        };
        if source.path.contains("/tidy/") {
            continue;
        }
        for (line, text) in prose(&source.text, comment) {
            let words = words_of(&text);
            for word in WORDS.iter().filter(|word| words.contains(&format!(" {word} "))) {
                let place = format!("{}:{line}: `{word}`", source.path);
                found.entry(source.package().to_owned()).or_default().push(place);
            }
        }
    }
    ratchet::hold("words", &found, WHY);
}

/// The words of a text in lower case, each between single spaces.
fn words_of(text: &str) -> String {
    let letters = text.chars().map(|letter| if letter.is_alphanumeric() { letter } else { ' ' });
    let text: String = letters.collect::<String>().to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    format!(" {} ", words.join(" "))
}

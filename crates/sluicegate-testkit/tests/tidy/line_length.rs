//! Lines that do not fit beside another file.

use std::collections::BTreeMap;

use super::ratchet;
use super::tree::files;

const COLUMNS: usize = 100;

#[test]
fn lines_have_at_most_100_columns() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in files(&["rs", "lua"]) {
        for (index, line) in source.text.lines().enumerate() {
            // An address cannot be broken.
            if line.chars().count() > COLUMNS && !line.contains("://") {
                let place = format!("{}:{}", source.path, index + 1);
                found.entry(source.package().to_owned()).or_default().push(place);
            }
        }
    }
    ratchet::hold("long-lines", &found, "Two files side by side have to fit on a screen");
}

//! Splits source code into code and prose: comments and string literals.

/// Comments and string literals of a file, in order, with their line numbers.
pub(super) fn prose(text: &str, comment: &str) -> Vec<(usize, String)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, prose_of(line, comment))).collect()
}

/// The comment and the string literals of one line.
///
/// Strings over several lines count from their first.
fn prose_of(line: &str, comment: &str) -> String {
    let mut found = String::new();
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        if rest.starts_with(comment) {
            found.push_str(rest);
            break;
        }
        if letter == '"' {
            let length = literal(rest);
            found.push_str(rest.get(1..length).unwrap_or(""));
            found.push(' ');
            rest = rest.get(length..).unwrap_or("");
            continue;
        }
        // The quote as a character is not the beginning of a string.
        let step = if rest.starts_with("'\"'") { 3 } else { letter.len_utf8() };
        rest = rest.get(step..).unwrap_or("");
    }
    found
}

/// The length of the literal that begins here, with its quotes; all of the line if it goes on.
fn literal(rest: &str) -> usize {
    let mut letters = rest.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => _ = letters.next(),
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[test]
fn comments_and_strings_are_prose_and_code_is_not() {
    let line = r#"let told = "who \" asks"; // nobody"#;
    assert_eq!(prose_of(line, "//"), r#"who \" asks" // nobody"#);
    assert_eq!(prose_of("if quote == '\"' { told() }", "//"), "");
    assert_eq!(prose_of("local told = 1 -- whoever", "--"), "-- whoever");
}

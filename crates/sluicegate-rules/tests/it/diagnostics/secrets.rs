//! What came from the environment is never shown, wherever in a file it stands; nor is a secret that
//! stands in the file itself.

use crate::files::{self, variable};

/// What a variable is set to that must not be seen. Nothing in a file can be this.
const HIDDEN: &str = "~hush! 0xDEAD {\u{7}";

/// Where values begin and end in the lines of a file: what stands behind a `:`, a `[` or a `,`.
fn values(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut values = Vec::new();
    for (at, letter) in text.char_indices() {
        if !":[,-".contains(letter) || !text[at + 1..].starts_with(' ') && letter != '[' {
            continue;
        }
        let start = at + 1 + text[at + 1..].len() - text[at + 1..].trim_start_matches(' ').len();
        let rest = &text[start..];
        let end = match rest.chars().next() {
            Some(quote @ '"') => rest[1..].find(quote).map(|end| end + 2),
            Some(letter) if letter.is_alphanumeric() || "/$*<>.".contains(letter) => {
                rest.find(['\n', ',', ']', '}', '#']).filter(|end| !rest[..*end].contains(": "))
            }
            _ => None,
        };
        if let Some(end) = end.filter(|end| !rest[..*end].ends_with(':')) {
            values.push(start..start + rest[..end].trim_end().len());
        }
    }
    values
}

#[test]
fn no_report_shows_what_a_variable_is_set_to() {
    let env = |name: &str| if name == "HIDDEN" { Some(HIDDEN.to_owned()) } else { variable(name) };
    let mut replaced = 0;
    let mut mistakes = 0;
    for case in files::cases("good") {
        let text = case.text("good");
        for value in values(&text) {
            let mut changed = text.clone();
            changed.replace_range(value.clone(), "\"${HIDDEN}\"");
            let report = case.load_instead(&changed, &env).report;
            let (shown, coloured) = (report.render(false), report.render(true));
            for part in ["hush", "DEAD"] {
                assert!(!shown.contains(part), "{}, {}:\n{shown}", case.name, &text[value]);
                assert!(!coloured.contains(part), "{}", case.name);
            }
            replaced += 1;
            mistakes += report.errors();
        }
    }
    assert!(replaced > 200, "{replaced} values");
    assert!(mistakes > 100, "{mistakes} mistakes");
}

#[test]
fn no_report_shows_a_secret_that_stands_in_the_file() {
    let case = files::cases("bad").into_iter().find(|case| case.name == "secret-line").unwrap();
    let report = case.load().report;
    let shown = report.render(false);
    assert!(report.errors() >= 2, "{shown}");
    for secret in ["horse", "do-not-show"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

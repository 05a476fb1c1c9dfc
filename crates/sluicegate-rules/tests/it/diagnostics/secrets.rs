//! Reports never show a value from the environment, nor a secret in the file itself.

use crate::rule_files::{self, variable};

/// The value of a variable that no report may show; it is not valid for any field.
const HIDDEN: &str = "~hush! 0xDEAD {\u{7}";

/// Returns the ranges of values in a file: the text after a `:`, a `[` or a `,`.
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
fn no_report_shows_the_value_of_a_variable() {
    let env = |name: &str| if name == "HIDDEN" { Some(HIDDEN.to_owned()) } else { variable(name) };
    let mut replaced = 0;
    let mut mistakes = 0;
    for case in rule_files::cases("good") {
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
fn no_report_shows_a_secret_in_the_file() {
    let case =
        rule_files::cases("bad").into_iter().find(|case| case.name == "secret-line").unwrap();
    let report = case.load().report;
    let shown = report.render(false);
    assert!(report.errors() >= 2, "{shown}");
    for secret in ["horse", "do-not-show"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

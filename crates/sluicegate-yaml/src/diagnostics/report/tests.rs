//! Tests of whole reports as users see them.

use super::*;
use crate::diagnostics::SourceSpan;
use crate::{parse, validate};

fn environment(name: &str) -> Option<String> {
    (name == "SECRET").then(|| "hunter2".to_owned())
}

/// The report on one text as `rules.yaml`.
fn report(text: &str) -> Report {
    let mut sources = SourceMap::default();
    let mut diagnostics = Diagnostics::default();
    let source = sources.add("rules.yaml", text);
    if let Some(root) = parse(source, sources.text(source), &environment, &mut diagnostics) {
        validate(&root, &crate::schema::tests::FILE, &mut diagnostics);
    }
    Report::new(sources, diagnostics)
}

fn rendered(text: impl AsRef<str>) -> String {
    report(text.as_ref()).render(false)
}

#[test]
fn a_valid_file_has_an_empty_report() {
    let text = "rules:\n  - name: a\n    limit: 1_000\n    match: {path: [/a, /b], x-key: true}\n";
    assert_eq!(rendered(text), "");
    assert_eq!(rendered(""), "");
}

#[test]
fn all_mistakes_are_shown_at_once() {
    let text = "rules:\n  - name: a\n    limt: 5\n    limit: many\n    colour: red\n";
    let expected = "\
error[unknown-field]: there is no field `limt` in a rule
 --> rules.yaml:3:5
  |
3 |     limt: 5
  |     ^^^^
  |
  = help: did you mean `limit`?

error[wrong-type]: expected a whole number, found the text `many`
 --> rules.yaml:4:12
  |
4 |     limit: many
  |            ^^^^

error[unknown-field]: there is no field `colour` in a rule
 --> rules.yaml:5:5
  |
5 |     colour: red
  |     ^^^^^^
  |
  = help: expected `name`, `limit`, `per`, `mode`, `enabled`, `match` or `cost`

3 errors
";
    assert_eq!(rendered(text), expected);
}

#[test]
fn a_field_that_is_written_twice_is_shown_at_both_places() {
    let text = "rules:\n  - name: a\n    limit: 1\n    per: 1s\n    limit: 2\n";
    let expected = "\
error[duplicate-field]: the field `limit` is written twice
 --> rules.yaml:5:5
  |
3 |     limit: 1
  |     ----- first written here
4 |     per: 1s
5 |     limit: 2
  |     ^^^^^ written again here

1 error
";
    assert_eq!(rendered(text), expected);
}

#[test]
fn places_far_apart_are_shown_as_separate_pieces() {
    let text = format!("rules: []\n{}rules: []\n", "# filler\n".repeat(500));
    let expected = "\
error[duplicate-field]: the field `rules` is written twice
   --> rules.yaml:502:1
    |
502 | rules: []
    | ^^^^^ written again here
    |
   ::: rules.yaml:1:1
    |
  1 | rules: []
    | ----- first written here

1 error
";
    assert_eq!(rendered(text), expected);
}

#[test]
fn a_tab_that_indents_is_shown() {
    let expected = "\
error[syntax]: a tab cannot be used for indentation or as a separator here
 --> rules.yaml:3:1
  |
3 | ␉limit: 1
  | ^
  |
  = help: use spaces instead

1 error
";
    assert_eq!(rendered("rules:\n  - name: a\n\tlimit: 1\n"), expected);
}

#[test]
fn an_unclosed_quote_is_shown_where_it_opens() {
    let expected = "\
error[syntax]: the closing `'` of this text is missing
 --> rules.yaml:2:11
  |
2 |   - name: 'a
  |           ^^
  |
  = help: add `'`; if the text has several lines, indent the further ones

1 error
";
    assert_eq!(rendered("rules: # isn't it\n  - name: 'a\n    limit: 1\n"), expected);
}

#[test]
fn an_alias_bomb_is_an_error() {
    let mut text = "notes:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(text, "  a{level}: &a{level} [{aliases}]");
    }
    let expected = "\
error[too-large]: the file is too large from here on
 --> rules.yaml:7:42
  |
7 |   a5: &a5 [*a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4]
  |                                          ^^^
  |
  = help: a file may have at most 1000000 values and 64 MiB of text after the expansion of aliases

1 error
";
    assert_eq!(rendered(text), expected);
}

#[test]
fn reports_name_variables_and_hide_their_values() {
    let text = "rules:\n  - name: ${MISSING} ${SECRET}\n    limit: ${SECRET}\n    mode: ${SECRET}\n\
                \x20   cost: x${SECRET}\n    enabled: \"${SECRET}\"\n    match: ${SECRET}\n\
                \x20   per: ${NO NAME}\n";
    let rendered = rendered(text);
    let expected = "\
error[missing-variable]: the environment variable `MISSING` is not set
 --> rules.yaml:2:11
  |
2 |   - name: ${MISSING} ${SECRET}
  |           ^^^^^^^^^^
  |
  = help: set it, or write `${MISSING:-default}`

error[wrong-type]: expected a whole number, found `${SECRET}`
 --> rules.yaml:3:12
  |
3 |     limit: ${SECRET}
  |            ^^^^^^^^^

error[unknown-value]: expected `enforce`, `observe` or `off`, found `${SECRET}`
";
    assert!(rendered.starts_with(expected), "{rendered}");
    assert!(!rendered.contains("hunter2"), "{rendered}");
}

#[test]
fn columns_are_right_after_other_letters_and_with_carriage_returns() {
    let text = "\u{feff}notes: ünï\r\nrules: [{name: '日本', limit: x, ☃: 1}]\r\n";
    let expected = "\
error[wrong-type]: expected a whole number, found the text `x`
 --> rules.yaml:2:29
  |
2 | rules: [{name: '日本', limit: x, ☃: 1}]
  |                               ^

error[unknown-field]: there is no field `☃` in a rule
 --> rules.yaml:2:32
  |
2 | rules: [{name: '日本', limit: x, ☃: 1}]
  |                                  ^
  |
  = help: expected `name`, `limit`, `per`, `mode`, `enabled`, `match` or `cost`

2 errors
";
    let shown = rendered(text);
    assert_eq!(shown, expected);
    assert!(!shown.contains('\r'));
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let names = "\"a\\e[31m\u{1b}[2J\u{9b}\u{202e}\u{7}\": 1\n'b\tc': 1\n";
    for colour in [false, true] {
        let mut text = report(names).render(colour);
        for style in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[91m", "\u{1b}[94m", "\u{1b}[96m"] {
            text = text.replace(style, "");
        }
        let bad = |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
        assert_eq!(text.chars().filter(|letter| bad(*letter)).count(), 0, "{text:?}");
    }
    let mut sources = SourceMap::default();
    let source = sources.add("ev\u{1b}il.yaml", "a\u{1b}b\u{9b}\u{2066}c");
    let mut diagnostics = Diagnostics::default();
    let diagnostic = Diagnostic::error(SourceSpan::new(source, 0, 1), "code", "message \u{1b}[0m");
    diagnostics.push(diagnostic.label("label \u{1b}").help("help \u{1b}\nand more"));
    let text = Report::new(sources, diagnostics).render(false);
    assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{2066}']), "{text:?}");
}

#[test]
fn very_long_lines_are_cut_and_columns_stay_right() {
    let text =
        format!("notes: {0}\ntiers: {{ a: 1, b: {0}, c: '2', d: {0} }}\n", "é".repeat(200_000));
    let shown = rendered(text);
    assert!(shown.len() < 5_000, "{}", shown.len());
    assert!(shown.contains("rules.yaml:2:19\n"), "{shown}");
    assert!(shown.contains("rules.yaml:2:200024\n"), "{shown}");
    assert!(shown.contains("c: '2', d: é"), "{shown}");
}

#[test]
fn long_lists_are_cut_off() {
    let text = (0..137).fold(String::new(), |text, number| text + &format!("a{number:03}: 1\n"));
    let shown = rendered(text);
    assert_eq!(shown.matches("error[unknown-field]").count(), 100);
    assert!(shown.ends_with("\n\nand 37 more\n137 errors\n"), "{shown}");
}

#[test]
fn a_diagnostic_of_several_aliases_is_shown_once() {
    let text = "rules: [&bad {per: 1s}, *bad, *bad]\n";
    let report = report(text);
    // Both diagnostics are about the whole rule: that `name` and that `limit` is missing.
    assert_eq!(report.errors(), 2, "{}", report.render(false));
}

#[test]
fn diagnostics_are_sorted_by_file_and_position() {
    let mut sources = SourceMap::default();
    let mut diagnostics = Diagnostics::default();
    let first = sources.add("rules.yaml", "include: b.yaml\nzzz: 1\nyyy: 1\n");
    let second = sources.add("b.yaml", "rules: 'é\n  x'\n");
    for span in [
        SourceSpan::new(second, 7, 15),
        SourceSpan::new(first, 23, 26),
        SourceSpan::new(first, 16, 19),
    ] {
        diagnostics.push(Diagnostic::error(span, "code", "message"));
    }
    let report = Report::new(sources, diagnostics);
    let places = report.diagnostics().iter().map(|diagnostic| {
        let place = report.locate(diagnostic);
        (place.file, place.line, place.column, place.end_line, place.end_column)
    });
    let expected = [("rules.yaml", 2, 1, 2, 4), ("rules.yaml", 3, 1, 3, 4), ("b.yaml", 1, 8, 2, 5)];
    let expected = expected.map(|(file, a, b, c, d)| (file.to_owned(), a, b, c, d));
    assert_eq!(places.collect::<Vec<_>>(), expected);
}

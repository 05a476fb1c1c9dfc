//! Texts that are not YAML, and what is said about them.

use super::*;

#[test]
fn syntax_errors_are_explained_where_they_can_be_put_right() {
    for (text, marked, message, help) in [
        ("a:\tb\n\tc: 1\n", "\t", "a tab cannot be used to indent", "use spaces"),
        ("a: 'x\nb: 2\n", "'x", "the closing `'`", "add `'`"),
        ("a: ['x', \"it's\nb: 2\n", "\"it's", "the closing `\"`", "add `\"`"),
        ("a: # don't, 'tis\n  'x\nb: 2\n", "'x", "the closing `'`", "add `'`"),
        ("a: \"x", "\"x", "the closing `\"`", "add `\"`"),
        ("a: [1, 2\nb: 3\n", "[", "the closing `]` is missing", "add `]`"),
        ("a: {b: 1\n", "{", "the closing `}` is missing", "add `}`"),
        ("a: {b: [1, 2}\n", "[1, 2}", "`[` is closed by `}`", "its own kind"),
        ("a: [b: c: d]\n", ": d]", "expected `,` or `]` here", "in quotes"),
        ("a: 1\nlimit 5\n", "limit 5", "there is no `:`", "did you mean `limit: 5`?"),
        ("a: 1\nlimit:5\n", "limit:5", "there is no `:`", "a space after the `:` of `limit`"),
        ("a: b: c\n", ":", "a second `:`", "in quotes"),
        ("a: 1\n  b: 2\n", "b:", "a field cannot start here", "indent it exactly"),
        ("a:\n   b: 1\n  c: 2\n", "c: 2", "is not indented like", "equally far"),
        ("a: 1\n- b\n", "- b", "a list item cannot stand", "below the field"),
        ("- a\nb: 1\n", "b: 1", "nor a list item", "equally far"),
        ("a:\n  b\n    c: 1\n", "b", "there is no `:` in this line", "did you mean `b:`?"),
        ("a: *.js\n", "*.js", "nothing is marked with `&.js`", "in quotes"),
        ("a: *\n", "*", "need a name", "in quotes"),
        ("a: @x\n", "@x", "cannot start with `@`", "in quotes"),
        ("a: \u{1}\n", "\u{1}", "control character", "remove it"),
        ("a: \"\\d\"\n", "\"\\d\"", "means nothing in double quotes", "single quotes"),
        ("a: \"x\" y\n", "y", "more text after the closing quotes", "the whole value"),
        ("a: }\n", "}", "this closes nothing", "in quotes"),
        ("a: x #c\n  y\n", "#c", "a comment cannot stand inside", "in quotes"),
        ("é: 'ü' ö\r\n", "ö", "more text after", "the whole value"),
    ] {
        let mut sources = Sources::default();
        let source = sources.add("a.yaml", text);
        let mut findings = Findings::default();
        let root = parse(source, text, &|_| None, &mut findings);
        assert!(root.is_none(), "{text}");
        let (findings, _) = findings.into_parts();
        let [finding] = findings.as_slice() else { panic!("not one finding: {text}") };
        assert_eq!(sources.slice(finding.span()), marked, "{text}");
        assert!(finding.message().contains(message), "{text}: {}", finding.message());
        let found = finding.help_text().unwrap_or("");
        assert!(found.contains(help), "{text}: {found}");
    }
}

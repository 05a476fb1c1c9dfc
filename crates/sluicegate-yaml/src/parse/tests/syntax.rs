//! Tests of the messages for syntax errors.

use super::*;

#[test]
fn syntax_errors_mark_the_place_of_the_fix() {
    for (text, marked, message, help) in [
        ("a:\tb\n\tc: 1\n", "\t", "a tab cannot be used for indentation", "use spaces"),
        ("a: 'x\nb: 2\n", "'x", "the closing `'`", "add `'`"),
        ("a: ['x', \"it's\nb: 2\n", "\"it's", "the closing `\"`", "add `\"`"),
        ("a: # don't, 'tis\n  'x\nb: 2\n", "'x", "the closing `'`", "add `'`"),
        ("a: \"x", "\"x", "the closing `\"`", "add `\"`"),
        ("a: [1, 2\nb: 3\n", "[", "the closing `]` is missing", "add `]`"),
        ("a: {b: 1\n", "{", "the closing `}` is missing", "add `}`"),
        ("a: {b: [1, 2}\n", "[1, 2}", "not valid YAML: mismatched bracket", "in quotes"),
        ("a: [b: c: d]\n", ": d]", "expected `,` or `]` here", "in quotes"),
        ("a: 1\nlimit 5\n", "limit 5", "there is no `:`", "did you mean `limit: 5`?"),
        ("a: 1\nlimit:5\n", "limit:5", "there is no `:`", "a space after the `:` of `limit`"),
        ("a: [1\n- b\n", "[", "the closing `]` is missing", "add `]`"),
        ("a: b: c\n", ":", "a second `:`", "in quotes"),
        ("a: 1\n  b: 2\n", "b:", "a field cannot start here", "indent it exactly"),
        ("a:\n   b: 1\n  c: 2\n", "c: 2", "a different indentation", "equally far"),
        ("a: 1\n- b\n", "- b", "a different indentation", "equally far"),
        ("- a\nb: 1\n", "b: 1", "a different indentation", "equally far"),
        ("a:\n  b\n    c: 1\n", "b", "there is no `:` in this line", "did you mean `b:`?"),
        ("a: *.js\n", "*.js", "`*` starts an alias", "in quotes"),
        ("a: *\n", "*", "not valid YAML", "in quotes"),
        ("a: @x\n", "@x", "not valid YAML", "in quotes"),
        ("a: \"x\" y\n", "y", "not valid YAML", "in quotes"),
        ("é: 'ü' ö\r\n", "ö", "not valid YAML", "in quotes"),
    ] {
        let mut sources = SourceMap::default();
        let source = sources.add("a.yaml", text);
        let mut diagnostics = Diagnostics::default();
        let root = parse(source, text, &|_| None, &mut diagnostics);
        assert!(root.is_none(), "{text}");
        let (diagnostics, _) = diagnostics.into_parts();
        let [diagnostic] = diagnostics.as_slice() else { panic!("not one diagnostic: {text}") };
        assert_eq!(sources.slice(diagnostic.span()), marked, "{text}");
        assert!(diagnostic.message().contains(message), "{text}: {}", diagnostic.message());
        let found = diagnostic.help_text().unwrap_or("");
        assert!(found.contains(help), "{text}: {found}");
    }
}

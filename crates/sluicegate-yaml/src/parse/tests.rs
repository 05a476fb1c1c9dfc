//! Tests of the parser: values, spans, mistakes and limits.

mod mutations;
mod syntax;

use super::*;
use crate::diagnostics::SourceMap;
use crate::node::Node;

/// Parses a text, with its diagnostics as `code: marked text`.
fn read(text: &str) -> (Option<Node>, Vec<String>, SourceMap) {
    let mut sources = SourceMap::default();
    let source = sources.add("a.yaml", text);
    let mut diagnostics = Diagnostics::default();
    let env = |name: &str| (name == "SET").then(|| "value".to_owned());
    let root = parse(source, text, &env, &mut diagnostics);
    let (diagnostics, _) = diagnostics.into_parts();
    let slice = |diagnostic: &Diagnostic| {
        format!("{}: {}", diagnostic.code(), sources.slice(diagnostic.span()))
    };
    let found = diagnostics.iter().map(slice).collect();
    (root, found, sources)
}

/// Returns the tree in one line: lists in brackets, maps in braces, quoted texts in quotes.
fn line(node: &Node) -> String {
    match &node.value {
        Value::Null => "-".to_owned(),
        Value::Scalar(scalar) => {
            if scalar.is_bare() {
                scalar.text().to_owned()
            } else {
                format!("{:?}", scalar.text())
            }
        }
        Value::List(items) => format!("[{}]", items.iter().map(line).collect::<Vec<_>>().join(" ")),
        Value::Map(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|entry| format!("{}={}", entry.key.text, line(&entry.value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(" "))
        }
    }
}

#[test]
fn reads_values_as_written() {
    for (text, expected) in [
        ("", "{}"),
        ("# nothing\n", "{}"),
        ("---\n", "{}"),
        (
            "a: 1\nb: 'x y'\nc:\nd: ~\ne: null\nf: \"null\"\n",
            r#"{a=1 b="x y" c=- d=- e=- f="null"}"#,
        ),
        ("1: a\ntrue: b\nnull: c\n", "{1=a true=b null=c}"),
        ("a: |\n  x\n  y\nb: >-\n  x\n  y\n", r#"{a="x\ny\n" b="x y"}"#),
        ("a: [1, {b: c, d}]\nl:\n- 1\n- 2\n", "{a=[1 {b=c d=-}] l=[1 2]}"),
        ("a: ${SET}x\nb: '${SET}'\nc: \"$${SET}\"\n", "{a=valuex b=value c=${SET}}"),
        ("${SET}: 1\n", "{${SET}=1}"),
        ("a: &x [1, 2]\nb: *x\n", "{a=[1 2] b=[1 2]}"),
        ("a: &x {p: 1, q: 2}\nb: {q: 3, <<: *x}\n", "{a={p=1 q=2} b={q=3 p=1}}"),
        ("a: &x {p: 1}\nb: {<<: [*x, {p: 2, q: 2}]}\n", "{a={p=1} b={p=1 q=2}}"),
        ("a: 1\r\nb: |\r\n  x\r\n", r#"{a=1 b="x\n"}"#),
    ] {
        let (root, found, _) = read(text);
        assert_eq!(found, [""; 0], "{text}");
        assert_eq!(line(&root.unwrap()), expected, "{text}");
    }
}

#[test]
fn spans_cover_exactly_the_text_of_a_value() {
    let text = "é: 'x ü'  # c\nlit: |\n  one\n  two\n\n\nfold: >-\n  three\nlist:\n- a\n- b: 1\n  c:\n\
                deep:\n  -  - x\n     - y\nflow: [ \"q\",\n  {k: v} ]\nplain: two\n  lines\nend: 1\n\n# c\n";
    let (root, found, sources) = read(text);
    assert_eq!(found, [""; 0]);
    let root = root.unwrap();
    for (field, expected) in [
        ("é", "'x ü'"),
        ("lit", "one\n  two"),
        ("fold", "three"),
        ("list", "- a\n- b: 1\n  c:"),
        ("deep", "-  - x\n     - y"),
        ("flow", "[ \"q\",\n  {k: v} ]"),
        ("plain", "two\n  lines"),
    ] {
        let entry = root.entry(field).unwrap();
        assert_eq!(sources.slice(entry.key.span), field);
        assert_eq!(sources.slice(entry.value.span), expected);
    }
    assert_eq!(sources.slice(root.span), text.strip_suffix("\n\n# c\n").unwrap());
    let items = root.get("list").unwrap().items();
    let slices = items.iter().map(|item| sources.slice(item.span)).collect::<Vec<_>>();
    assert_eq!(slices, ["a", "b: 1\n  c:"]);
    let inner = root.get("deep").unwrap().items();
    assert_eq!(sources.slice(inner[0].span), "- x\n     - y");
}

#[test]
fn marks_mistakes_and_reads_the_rest() {
    for (text, mistakes, expected) in [
        ("a: 1\nb: 2\na: 3\n", &["duplicate-field: a"][..], "{a=1 b=2}"),
        ("a: !!str 1\nb: !x [1]\n", &["tag: !!str", "tag: !x"], "{a=1 b=[1]}"),
        ("? [x]\n: 1\nb: 2\n", &["field-name: [x]"], "{b=2}"),
        ("a: &x 1\n*x : 2\nb: 3\n", &["field-name: *x"], "{a=1 b=3}"),
        ("{{x}}: 1\nb: 2\n", &["field-name: {x}", "field-name: {{x}}"], "{b=2}"),
        ("\"\": 1\nb: 2\n", &["field-name: \"\""], "{b=2}"),
        ("a: 1\n---\nb: 2\n", &["second-document: ---"], "{a=1}"),
        ("a: {<<: 5, b: 1}\n", &["merge: 5"], "{a={b=1}}"),
        ("a: x${NO}${NO}\nb: 2\n", &["missing-variable: ${NO}"; 2], "{a=x${NO}${NO} b=2}"),
        ("a: \"${NO\"\n", &["bad-variable: ${NO"], "{a=\"${NO\"}"),
        ("a: \"$\\x7BNO}\"\n", &["missing-variable: \"$\\x7BNO}\""], "{a=\"${NO}\"}"),
    ] {
        let (root, found, _) = read(text);
        assert_eq!(found, mistakes, "{text}");
        assert_eq!(line(&root.unwrap()), expected, "{text}");
    }
}

#[test]
fn marks_each_missing_variable_at_its_place() {
    let text = "a: ${NO} and ${NO}\n";
    let mut diagnostics = Diagnostics::default();
    let source = SourceMap::default().add("a.yaml", text);
    parse(source, text, &|_| None, &mut diagnostics);
    let (diagnostics, _) = diagnostics.into_parts();
    let ranges = diagnostics.iter().map(|diagnostic| diagnostic.span().range()).collect::<Vec<_>>();
    assert_eq!(ranges, [3..8, 13..18]);
}

#[test]
fn nesting_and_repetition_are_bounded() {
    let nested = |depth: usize| format!("a: {}{}\n", "[".repeat(depth), "]".repeat(depth));
    let block = |depth: usize| {
        (0..depth).fold(String::new(), |text, indent| text + &" ".repeat(indent) + "a:\n")
    };
    let aliased = |depth: usize| {
        format!(
            "a: &x {}1{}\nb: {}*x{}\n",
            "[".repeat(40),
            "]".repeat(40),
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    let long = format!("a: &x {}\nb: [{}]\n", "x".repeat(1 << 20), ["*x"; 80].join(","));
    for (text, expected) in [
        (nested(63), None),
        (nested(64), Some("too-deep: [")),
        (nested(10_000), Some("too-deep: [")),
        (block(64), None),
        (block(65), Some("too-deep: a")),
        (aliased(23), None),
        (aliased(24), Some("too-deep: *x")),
        ("a: &x [*x]\n".to_owned(), Some("alias: *x")),
        (long, Some("too-large: *x")),
        (format!("a: [{}]\n", "1,".repeat(999_999)), Some("too-large: 1")),
    ] {
        let (root, found, _) = read(&text);
        let start = text.get(..40).unwrap_or(&text);
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{start}");
        assert_eq!(root.is_none(), expected.is_some(), "{start}");
    }
}

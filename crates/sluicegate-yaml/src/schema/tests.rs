//! Tests of validation and of the JSON schema, on a small format.

use super::*;
use crate::diagnostics::SourceMap;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::parse;

fn is_header(name: &str) -> bool {
    name.starts_with("x-")
}

const DURATION: ValueKind =
    ValueKind::Pattern { what: "a duration", example: "30s", regex: "^[0-9]+(ms|s|m|h)$" };

const fn field(name: &'static str, about: &'static str, kind: ValueKind) -> Field {
    Field { name, about, kind, required: false, example: None }
}

static MATCH: Object = Object {
    name: "a match",
    about: "which requests a rule is for",
    fields: &[
        field("path", "the path of the request", ValueKind::OneOrMany(&ValueKind::Text)),
        field("all", "all of these", ValueKind::List(&ValueKind::Object(&MATCH))),
    ],
    hint: None,
    free_fields: Some(&FreeFields {
        what: "a header",
        names: is_header,
        regex: "^x-",
        kind: &ValueKind::Any(&[ValueKind::Flag, ValueKind::Text, ValueKind::Null]),
    }),
};

static RULE: Object = Object {
    name: "a rule",
    about: "a limit and its callers",
    fields: &[
        Field {
            name: "name",
            about: "the name of the rule",
            kind: ValueKind::Text,
            required: true,
            example: Some("logins"),
        },
        Field {
            name: "limit",
            about: "how many requests pass",
            kind: ValueKind::Whole,
            required: true,
            example: Some("100"),
        },
        field("per", "the time for that many", DURATION),
        field(
            "mode",
            "the behaviour above the limit",
            ValueKind::OneOf(&["enforce", "observe", "off"]),
        ),
        field("enabled", "whether it counts", ValueKind::Flag),
        field(
            "match",
            "which requests",
            ValueKind::Any(&[ValueKind::Object(&MATCH), ValueKind::Literal("all")]),
        ),
        field("cost", "the cost of a request", ValueKind::Any(&[ValueKind::Whole, DURATION])),
    ],
    free_fields: None,
    hint: None,
};

static FILE_OBJECT: Object = Object {
    name: "a rule file",
    about: "rules and settings",
    fields: &[
        field("include", "more files", ValueKind::OneOrMany(&ValueKind::Text)),
        field("rules", "the rules", ValueKind::List(&ValueKind::Object(&RULE))),
        field("tiers", "limits by name", ValueKind::Map { what: "a tier", of: &ValueKind::Whole }),
        field("notes", "for people", ValueKind::Text),
    ],
    free_fields: None,
    hint: None,
};

/// A small format that uses every kind.
pub(crate) static FILE: ValueKind = ValueKind::Object(&FILE_OBJECT);

/// Returns the messages of the validation of a text.
fn messages(kind: &ValueKind, text: &str) -> Vec<String> {
    let mut diagnostics = Diagnostics::default();
    let source = SourceMap::default().add("a.yaml", text);
    let root =
        parse::parse(source, text, &|_| Some("hunter2".to_owned()), &mut diagnostics).unwrap();
    let good = validate(root.get("a").unwrap(), kind, &mut diagnostics);
    assert_eq!(good, !diagnostics.has_errors(), "{text}");
    let (diagnostics, _) = diagnostics.into_parts();
    let sentence = |diagnostic: &Diagnostic| {
        let help = diagnostic.help_text().map(|help| format!(" ({help})"));
        format!("{}{}", diagnostic.message(), help.unwrap_or_default())
    };
    diagnostics.iter().map(sentence).collect()
}

#[test]
fn every_kind_accepts_its_values_and_describes_the_others() {
    const MODES: ValueKind = ValueKind::OneOf(&["enforce", "observe", "off"]);
    const TEXTS: ValueKind = ValueKind::OneOrMany(&ValueKind::Text);
    const TIERS: ValueKind = ValueKind::Map { what: "a tier", of: &ValueKind::Whole };
    const COST: ValueKind = ValueKind::Any(&[ValueKind::Whole, ValueKind::Flag]);
    for (kind, text, expected) in [
        (&ValueKind::Text, "a: 5", &[][..]),
        (&ValueKind::Text, "a: [5]", &["expected a text, found a list"]),
        (&ValueKind::Text, "a:", &["expected a text, found nothing (write a value, or remove it)"]),
        (&ValueKind::Whole, "a: 1_0", &[]),
        (&ValueKind::Whole, "a: -1", &["expected a whole number, found the number -1"]),
        (&ValueKind::Whole, "a: 1.5", &["expected a whole number, found the number 1.5"]),
        (
            &ValueKind::Whole,
            "a: '5'",
            &["expected a whole number, found the text \"5\" (remove the quotes)"],
        ),
        (&ValueKind::Whole, "a: true", &["expected a whole number, found `true`"]),
        (&ValueKind::Whole, "a: ${X}", &["expected a whole number, found `${X}`"]),
        (&ValueKind::Flag, "a: false", &[]),
        (
            &ValueKind::Flag,
            "a: Yes",
            &["expected `true` or `false`, found the text `Yes` (write `true`)"],
        ),
        (
            &ValueKind::Flag,
            "a: off",
            &["expected `true` or `false`, found the text `off` (write `false`)"],
        ),
        (&ValueKind::Flag, "a: x", &["expected `true` or `false`, found the text `x`"]),
        (&ValueKind::Null, "a: x", &["expected nothing, found the text `x`"]),
        (&ValueKind::Literal("all"), "a: all", &[]),
        (
            &ValueKind::Literal("all"),
            "a: al",
            &["expected `all`, found the text `al` (did you mean `all`?)"],
        ),
        (&MODES, "a: off", &[]),
        (&MODES, "a: 5", &["expected `enforce`, `observe` or `off`, found the number 5"]),
        (&MODES, "a: ${X}", &["expected `enforce`, `observe` or `off`, found `${X}`"]),
        (&ValueKind::Literal("hunter3"), "a: ${X}", &["expected `hunter3`, found `${X}`"]),
        (&DURATION, "a: {}", &["expected a duration such as `30s`, found a map"]),
        (
            &ValueKind::List(&DURATION),
            "a: 1",
            &["expected a list of durations, found the number 1"],
        ),
        (&ValueKind::List(&DURATION), "a:", &[]),
        (&TEXTS, "a: x", &[]),
        (&TEXTS, "a: [x, y]", &[]),
        (&TEXTS, "a: {}", &["expected a text or a list of texts, found a map"]),
        (&TEXTS, "a: [[x]]", &["expected a text, found a list"]),
        (&TIERS, "a: {x: 1, y: z}", &["expected a whole number, found the text `z`"]),
        (&TIERS, "a: []", &["expected a name and a value for each tier, found a list"]),
        (&COST, "a: 5", &[]),
        (&COST, "a: true", &[]),
        (&COST, "a: x", &["expected a whole number, `true` or `false`, found the text `x`"]),
        (&COST, "a: []", &["expected a whole number, `true` or `false`, found a list"]),
    ] {
        assert_eq!(messages(kind, text), expected, "{text}");
    }
}

#[test]
fn nested_fields_are_validated_and_a_misspelt_one_is_not_missing_as_well() {
    for (text, expected) in [
        ("a: {name: x, limit: 1, match: all}", &[][..]),
        ("a: {name: x, limit: 1, match: {x-a: ~, x-b: 1, all: [{path: /a}]}}", &[]),
        (
            "a: {name: x}",
            &["a rule needs the field `limit` (add `limit`: how many requests pass; as in \
                 `limit: 100`)"],
        ),
        ("a: {name: x, limt: 1}", &["there is no field `limt` in a rule (did you mean `limit`?)"]),
        (
            "a: {name: x, limit: 1, match: {all: [{pth: 1}, {b: 1}, 5]}}",
            &[
                "there is no field `pth` in a match (did you mean `path`?)",
                "there is no field `b` in a match (expected `path`, `all` or the name of a header)",
                "expected the fields of a match, found the number 5",
            ],
        ),
        ("a: 5", &["expected the fields of a rule, found the number 5"]),
        ("a:", &["expected the fields of a rule, found nothing (write a value, or remove it)"]),
        (
            "a: {name: x, limit: 1, match: []}",
            &["expected the fields of a match or `all`, found a list"],
        ),
    ] {
        assert_eq!(messages(&ValueKind::Object(&RULE), text), expected, "{text}");
    }
}

#[test]
fn the_schema_describes_every_object_once() {
    let schema = json_schema("Rules", &FILE);
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["$ref"], "#/$defs/rule-file");
    let definitions = schema["$defs"].as_object().unwrap();
    let mut names = definitions.keys().map(String::as_str).collect::<Vec<_>>();
    names.sort_unstable();
    assert_eq!(names, ["match", "rule", "rule-file", "variable"]);
    assert!(definitions.values().all(serde_json::Value::is_object));
    let rule = &definitions["rule"];
    assert_eq!(rule["required"], serde_json::json!(["name", "limit"]));
    assert_eq!(rule["additionalProperties"], false);
    assert_eq!(rule["properties"]["limit"]["description"], "how many requests pass");
    let modes = serde_json::json!(["enforce", "observe", "off"]);
    assert_eq!(rule["properties"]["mode"]["anyOf"][0]["enum"], modes);
    // An object that contains itself refers to itself.
    assert_eq!(definitions["match"]["properties"]["all"]["items"]["$ref"], "#/$defs/match");
    assert_eq!(definitions["match"]["propertyNames"]["anyOf"][1]["pattern"], "^x-");
}

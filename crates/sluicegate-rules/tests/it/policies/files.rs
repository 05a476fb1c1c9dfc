//! What holds for the file of every policy: it is sound, and editors agree that it is.

use std::path::{Path, PathBuf};

use sluicegate_rules::Finding;

use super::document;
use super::stage::{folder, load, names};

/// Warnings that are meant: these systems have bursts that are large on purpose.
const MEANT: [(&str, &[&str]); 2] = [
    ("ec2-burst-credits", &["large-burst"]),
    ("shopify", &["large-burst", "large-burst", "large-burst", "large-burst"]),
];

#[test]
fn every_policy_is_without_errors_and_warnings_other_than_those_that_are_meant() {
    let names = names();
    assert!(names.len() >= 13, "{names:?}");
    for name in names {
        let report = load(&name).report;
        let found: Vec<&str> = report.findings().iter().map(Finding::code).collect();
        let meant =
            MEANT.iter().find(|(policy, _)| *policy == name).map_or(&[][..], |(_, codes)| codes);
        assert_eq!(found, meant, "{name}:\n{report}");
    }
}

#[test]
fn every_policy_validates_against_the_schema() {
    let schema = serde_json::from_str(&sluicegate_rules::schema()).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    for name in names() {
        let text = std::fs::read_to_string(folder().join(&name).with_extension("yaml")).unwrap();
        let file = document::read(&text);
        let errors: Vec<String> = validator
            .iter_errors(&file)
            .map(|error| format!("{} at {}", error, error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

#[test]
fn the_schema_refuses_what_a_policy_may_not_say() {
    let schema = serde_json::from_str(&sluicegate_rules::schema()).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let wrong = [
        "rulez: []",
        "rules: [{ name: api, limit: 1/s }]",
        "rules: [{ name: api, key: ip, limit: often }]",
        "rules: [{ name: api, key: ip, limit: 1/s, algorithm: bucket }]",
        "rules: [{ name: api, key: ip, cooldown: { after: 5 } }]",
        "identify: { user: { header: x-user, if_missing: 403 } }",
    ];
    for text in wrong {
        assert!(!validator.is_valid(&document::read(text)), "{text}");
    }
}

#[test]
fn every_policy_is_in_the_readme() {
    let readme = std::fs::read_to_string(folder().join("../README.md")).expect("there is one");
    for name in names() {
        assert!(
            readme.contains(&format!("(policies/{name}.yaml)")),
            "{name} is not in examples/README.md"
        );
    }
}

/// With `SLUICEGATE_WRITE=1` it writes the file anew.
#[test]
fn the_schema_that_is_checked_in_is_the_schema() {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.schema.json");
    let schema = sluicegate_rules::schema();
    if std::env::var_os("SLUICEGATE_WRITE").is_some_and(|value| value == "1") {
        std::fs::write(&path, &schema).expect("it can be written");
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in == schema,
        "docs/rules.schema.json is not what the rules say: run this test with SLUICEGATE_WRITE=1 to write it anew",
    );
}

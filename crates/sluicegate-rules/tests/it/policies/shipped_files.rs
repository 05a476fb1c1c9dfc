//! Shipped rule files: no errors, warnings or notes, valid against the JSON schema.

use std::fs;
use std::path::{Path, PathBuf};

use sluicegate_rules::{DiskFiles, InMemoryFiles, RuleFile, Severity};

use super::document;
use super::policy_test::{folder, names};

/// The value of every variable.
const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files in a folder with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files =
        entries.flat_map(|path| if path.is_dir() { files(&path, ending) } else { vec![path] });
    files.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
}

#[test]
fn shipped_rule_files_validate_silently() {
    let built_in = repository().join("crates/sluicegate-cli/src/serve/built_in.yaml");
    let mut paths = files(&repository().join("examples"), ".yaml");
    // Envoy's own configuration.
    paths.retain(|path| !path.ends_with("envoy.yaml"));
    paths.push(built_in);
    paths.extend(files(&repository().join("packaging"), "rules.yaml"));
    assert!(paths.len() >= 20, "{paths:?}");
    for path in paths {
        let file = RuleFile::load_with(&path, &DiskFiles, &|_| Some(SECRET.to_owned())).unwrap();
        assert_silent(&path.display().to_string(), &file);
    }
}

#[test]
fn the_rules_of_the_chart_validate_silently() {
    let values = repository().join("packaging/helm/sluicegate/values.yaml");
    let text = fs::read_to_string(values).unwrap();
    let (_, rest) = text.split_once("\nrules: |\n").expect("the chart has rules");
    let lines = rest.lines().take_while(|line| line.is_empty() || line.starts_with("  "));
    let rules: Vec<&str> = lines.map(|line| line.get(2..).unwrap_or_default()).collect();
    assert!(rules.contains(&"rules:"), "{rules:?}");
    assert_silent("the rules of values.yaml", &load(&rules.join("\n")));
}

/// Fails if validation prints an error, a warning or a note.
fn assert_silent(name: &str, file: &RuleFile) {
    assert!(
        file.rules.is_some() && file.report.diagnostics().is_empty(),
        "{name}:\n{}",
        file.report
    );
}

/// Loads a text as a rule file, with a value for every variable.
fn load(text: &str) -> RuleFile {
    let files = InMemoryFiles::new().with("rules.yaml", text);
    RuleFile::load_with(Path::new("rules.yaml"), &files, &|_| Some(SECRET.to_owned())).unwrap()
}

/// The YAML blocks of a page that are rule files.
fn blocks(page: &str) -> Vec<String> {
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    let is_whole = |block: &&str| block.lines().any(|line| line.starts_with("rules:"));
    blocks.filter(is_whole).map(str::to_owned).collect()
}

#[test]
fn rule_files_in_the_documentation_have_no_warnings() {
    let mut pages = files(&repository().join("docs"), ".md");
    pages.extend(["README.md", "examples/README.md"].map(|page| repository().join(page)));
    let mut checked = 0;
    for page in pages {
        for block in blocks(&fs::read_to_string(&page).unwrap()) {
            let file = load(&block);
            checked += usize::from(file.rules.is_some());
            let severities =
                file.report.diagnostics().iter().map(sluicegate_rules::Diagnostic::severity);
            let warnings = severities.filter(|severity| *severity == Severity::Warning).count();
            assert_eq!(warnings, 0, "{}:\n{block}\n{}", page.display(), file.report);
        }
    }
    assert!(checked >= 3, "{checked} rule files");
}

#[test]
fn every_policy_is_valid_against_the_schema() {
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
fn the_schema_rejects_invalid_policies() {
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
fn the_readme_lists_every_policy() {
    let readme = std::fs::read_to_string(folder().join("../README.md")).expect("there is one");
    for name in names() {
        assert!(
            readme.contains(&format!("(policies/{name}.yaml)")),
            "{name} is not in examples/README.md"
        );
    }
}

/// `SLUICEGATE_WRITE=1` regenerates the file.
#[test]
fn the_checked_in_schema_is_current() {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.schema.json");
    let schema = sluicegate_rules::schema();
    if std::env::var_os("SLUICEGATE_WRITE").is_some_and(|value| value == "1") {
        std::fs::write(&path, &schema).expect("it can be written");
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in == schema,
        "docs/rules.schema.json is out of date: run this test with SLUICEGATE_WRITE=1 to \
         regenerate it",
    );
}

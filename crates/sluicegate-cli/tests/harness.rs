//! Tests of the program against the model: see `docs/testing.md`, "The harness".
//!
//! | variable | meaning |
//! |---|---|
//! | `SLUICEGATE_HARNESS_SECONDS` | the duration of random cases; 60 |
//! | `SLUICEGATE_HARNESS_SEED` | the first seed; 1 |
//! | `SLUICEGATE_HARNESS_CASE` | a file to replay instead of random cases |
//! | `SLUICEGATE_HARNESS_PROGRAM` | another build of the program |
//! | `SLUICEGATE_HARNESS_SHRINK` | 0 keeps cases that differ as they are |

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use sluicegate_harness::Harness;

fn harness() -> Harness {
    let program = env::var_os("SLUICEGATE_HARNESS_PROGRAM")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_sluicegate")), PathBuf::from);
    let harness = Harness::new(program, Path::new(env!("CARGO_TARGET_TMPDIR")).join("harness"));
    match env::var("SLUICEGATE_HARNESS_SHRINK").as_deref() {
        Ok("0") => harness.without_shrinking(),
        _ => harness,
    }
}

#[allow(clippy::expect_used, reason = "an invalid setting fails the test")]
fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().expect("a whole number"))
}

#[test]
fn random_cases_are_answered_as_the_model_says() {
    if env::var_os("SLUICEGATE_HARNESS_CASE").is_some() {
        return;
    }
    let seconds = Duration::from_secs(number("SLUICEGATE_HARNESS_SECONDS", 60));
    let summary = harness().explore(number("SLUICEGATE_HARNESS_SEED", 1), seconds);
    println!(
        "{} cases, {} steps, {} answers compared, {} checks refused, {} by deny caches",
        summary.cases, summary.steps, summary.answers, summary.refused, summary.by_memory
    );
    for finding in &summary.findings {
        let file = finding.file.display();
        println!("found: seed {} step {}", finding.seed, finding.step + 1);
        println!("{}\n  replay it: ./scripts/harness {file}", finding.what);
    }
    for what in &summary.unrepeated {
        println!("did not repeat: {what}");
    }
    assert!(summary.findings.is_empty(), "the program and the model differ");
    let unrepeated = summary.unrepeated.len() as u64;
    assert!(unrepeated * 50 < summary.cases + 100, "too many differences do not repeat");
    assert!(summary.answers > summary.refused && summary.refused > 0, "nothing was compared");
}

/// Replays fixed differences, and cases of known differences, which fail as soon as they are fixed.
#[test]
fn kept_cases_are_answered_as_the_model_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sluicegate-harness/cases");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let replay = |file: &PathBuf| harness().replay(file).err();
    let failures: Vec<String> = files.iter().filter_map(replay).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(!files.is_empty());
}

#[test]
fn a_case_is_replayed() {
    let Some(file) = env::var_os("SLUICEGATE_HARNESS_CASE") else { return };
    if let Err(what) = harness().replay(Path::new(&file)) {
        panic!("{what}");
    }
}

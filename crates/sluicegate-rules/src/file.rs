//! Rule files: loading, validation, and compilation into a rule set.

pub(crate) mod compile;
pub(crate) mod lint;
pub(crate) mod load;
pub(crate) mod schema_tables;
pub(crate) mod settings;
pub(crate) mod timestamp;
pub(crate) mod units;

use std::path::{Path, PathBuf};

use self::compile::Compiled;
use self::load::{DiskFiles, FileSource, InMemoryFiles, UnreadableFile};
use self::settings::Settings;
use crate::rule_set::RuleSet;
use sluicegate_yaml::Report;
use sluicegate_yaml::json_schema;

/// A rule file with everything that it includes.
#[derive(Debug)]
pub struct RuleFile {
    /// The rules, if there are no errors.
    pub rules: Option<RuleSet>,
    /// The settings of the program.
    pub settings: Settings,
    /// Whether a file has an empty list of rules on purpose: `rules: []`.
    ///
    /// If not, a rule set without rules may come from a truncated file.
    pub none_in_words: bool,
    /// All errors, warnings and notes.
    pub report: Report,
    /// All files and folders that were read; a change of one may change the rules.
    pub watched: Vec<PathBuf>,
}

impl RuleFile {
    /// Reads a rule file from disk, or all rule files of a folder.
    ///
    /// Mistakes in a file are in its report.
    ///
    /// # Errors
    ///
    /// If there is nothing to read at that path.
    pub fn load(path: &Path) -> Result<Self, UnreadableFile> {
        Self::load_with(path, &DiskFiles, &|name| std::env::var(name).ok())
    }

    /// Reads a rule file from the given files, with the given environment variables.
    ///
    /// # Errors
    ///
    /// If there is nothing to read at that path.
    pub fn load_with(
        path: &Path,
        files: &dyn FileSource,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, UnreadableFile> {
        let mut loaded = load::load(path, files, env);
        if let Some(failure) = loaded.failure.take() {
            return Err(failure);
        }
        let (compiled, report, watched) = compile::compile(loaded, files, env);
        let (rules, settings, none_in_words) = match compiled {
            Some(Compiled { rules, settings, none_in_words }) => {
                (Some(rules), settings, none_in_words)
            }
            None => (None, Settings::default(), false),
        };
        Ok(Self { rules, settings, none_in_words, report, watched })
    }
}

impl RuleSet {
    /// Reads rules from a text.
    ///
    /// # Errors
    ///
    /// The report, if there is an error in the text.
    pub fn parse(text: &str) -> Result<Self, Report> {
        let path = Path::new("rules.yaml");
        let shelf = InMemoryFiles::new().with(path, text);
        let mut loaded = load::load(path, &shelf, &|_| None);
        loaded.failure = None;
        let (compiled, report, _) = compile::compile(loaded, &shelf, &|_| None);
        compiled.map(|compiled| compiled.rules).ok_or(report)
    }
}

/// Returns the JSON schema of rule files, for editors.
pub fn schema() -> String {
    let schema = json_schema("Sluicegate rule file", &schema_tables::FILE);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

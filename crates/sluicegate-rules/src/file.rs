//! A rule file: what is read, what it came to, and what was found.

use std::path::{Path, PathBuf};

use crate::compile::{self, Compiled};
use crate::format;
use crate::load::{self, Disk, Files, Shelf, Unreadable};
use crate::report::Report;
use crate::ruleset::RuleSet;
use crate::settings::Settings;
use crate::shape;

/// A rule file, with all that it includes.
#[derive(Debug)]
pub struct RuleFile {
    /// The rules, if there are no errors.
    pub rules: Option<RuleSet>,
    /// What it says about the program itself.
    pub settings: Settings,
    /// Whether there are no rules because a file says so: `rules: []`. Otherwise they may have got
    /// lost.
    pub none_in_words: bool,
    /// Everything that is wrong or doubtful.
    pub report: Report,
    /// Every file and folder that was looked at: if one changes, so may the rules.
    pub watched: Vec<PathBuf>,
}

impl RuleFile {
    /// Reads a rule file from disk, or all rule files of a folder.
    ///
    /// Fails only if there is nothing to read at that path; what is wrong in a file is in its report.
    pub fn load(path: &Path) -> Result<Self, Unreadable> {
        Self::load_with(path, &Disk, &|name| std::env::var(name).ok())
    }

    /// Reads a rule file from other files, with other variables.
    pub fn load_with(
        path: &Path,
        files: &dyn Files,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Unreadable> {
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
    /// Reads rules from a text; the report if there is an error in it.
    pub fn parse(text: &str) -> Result<Self, Report> {
        let path = Path::new("rules.yaml");
        let shelf = Shelf::new().with(path, text);
        let mut loaded = load::load(path, &shelf, &|_| None);
        loaded.failure = None;
        let (compiled, report, _) = compile::compile(loaded, &shelf, &|_| None);
        compiled.map(|compiled| compiled.rules).ok_or(report)
    }
}

/// The JSON schema of rule files, for editors.
pub fn schema() -> String {
    let schema = shape::schema("Sluicegate rule file", &format::FILE);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

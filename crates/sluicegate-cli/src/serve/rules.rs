//! The initial rules, from a file or built in.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use sluicegate_rules::{RuleSet, Settings};

use crate::colour::Colour;
use crate::exit::CliError;
use crate::output;
use crate::plural::counted;
use crate::reload::LoadedRules;

/// The rules that apply without a file.
const BUILT_IN: &str = include_str!("built_in.yaml");

/// The initial rules, their settings and their origin.
pub(super) struct InitialRules {
    pub(super) set: RuleSet,
    /// The `store` and `listen` settings of the file.
    pub(super) settings: Settings,
    /// The file, unless the rules are built in.
    pub(super) file: Option<(PathBuf, LoadedRules)>,
}

impl InitialRules {
    /// Loads a file, or the built-in rules; prints errors and warnings to standard error.
    pub(super) fn of(config: Option<&Path>) -> Result<Self, CliError> {
        let Some(path) = config else {
            let set = RuleSet::parse(BUILT_IN)
                .map_err(|report| anyhow!("the built-in rules cannot be used\n{report}"))?;
            return Ok(Self { set, settings: Settings::default(), file: None });
        };
        let mut reading = LoadedRules::first(path);
        let file = match &mut reading.file {
            Ok(file) => file,
            Err(unreadable) => return Err(unreadable.clone().into()),
        };
        let report = file.report.render(Colour::Auto.on(io::stderr().is_terminal()));
        output::print_error(&report);
        let settings = file.settings.clone();
        let Some(set) = file.rules.take() else {
            let (path, errors) = (path.display(), counted(file.report.errors(), "error"));
            return Err(anyhow!(
                "cannot start: {path} has {errors}; `sluicegate validate {path}` checks it again"
            )
            .into());
        };
        Ok(Self { set, settings, file: Some((path.to_owned(), reading)) })
    }

    /// The number of rules and their origin.
    pub(super) fn summary(&self) -> String {
        let count = self.set.rules().len();
        match &self.file {
            Some((path, _)) => format!("{} from {}", counted(count, "rule"), path.display()),
            None => format!("{count} built-in rules; use --config FILE for your own"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_rules_are_valid() {
        let Ok(built_in) = InitialRules::of(None) else { panic!("the built-in rules have errors") };
        assert_eq!(built_in.set.rules().len(), 2);
        assert_eq!(built_in.summary(), "2 built-in rules; use --config FILE for your own");
    }
}

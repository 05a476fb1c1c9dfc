//! The rules to begin with: those of a file, or a few that are built in.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use sluicegate_rules::{RuleSet, Settings};

use crate::colour::Colour;
use crate::counted::counted;
use crate::failure::Failure;
use crate::output;
use crate::reload::Reading;

/// What is gone by without a file.
const BUILT_IN: &str = include_str!("built_in.yaml");

/// The rules to begin with.
pub(super) struct Rules {
    pub(super) set: RuleSet,
    /// What their file says about the program itself.
    pub(super) settings: Settings,
    /// Where they come from.
    pub(super) file: Option<(PathBuf, Reading)>,
}

impl Rules {
    /// Those of a file, or the built-in ones. What is wrong or doubtful is said on standard error.
    pub(super) fn of(config: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = config else {
            let set = RuleSet::parse(BUILT_IN)
                .map_err(|report| anyhow!("the built-in rules cannot be used\n{report}"))?;
            return Ok(Self { set, settings: Settings::default(), file: None });
        };
        let mut reading = Reading::first(path);
        let file = match &mut reading.file {
            Ok(file) => file,
            Err(unreadable) => return Err(unreadable.clone().into()),
        };
        let report = file.report.render(Colour::Auto.on(io::stderr().is_terminal()));
        output::complain(&report);
        let settings = file.settings.clone();
        let Some(set) = file.rules.take() else {
            let (path, errors) = (path.display(), counted(file.report.errors(), "error"));
            return Err(anyhow!("{path} has {errors}, so nothing is served").into());
        };
        Ok(Self { set, settings, file: Some((path.to_owned(), reading)) })
    }

    /// How many there are and where they come from.
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
    fn the_built_in_rules_are_good() {
        let Ok(built_in) = Rules::of(None) else { panic!("they are not") };
        assert_eq!(built_in.set.rules().len(), 2);
        assert_eq!(built_in.summary(), "2 built-in rules; use --config FILE for your own");
    }
}

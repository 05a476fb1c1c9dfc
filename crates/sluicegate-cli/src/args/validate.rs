//! Arguments of `sluicegate validate`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::colour::Colour;

#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// Rule files, or folders that hold one rule set each; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Exits with 1 if there are warnings
    #[arg(long)]
    pub(crate) deny_warnings: bool,

    /// Also prints the most that each rule admits
    #[arg(long)]
    pub(crate) envelope: bool,

    /// The format of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// When to use colours; `auto` means for a terminal
    #[arg(long, alias = "color", value_enum, value_name = "WHEN", default_value_t = Colour::Auto)]
    pub(crate) colour: Colour,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Findings with the marked lines of the file, for people
    Text,
    /// One JSON object, for programs
    Json,
}

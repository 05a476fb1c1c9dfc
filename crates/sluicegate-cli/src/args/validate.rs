//! What was typed after `sluicegate validate`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::colour::Colour;

#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// The rule file, or a folder of them
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Ends with 0 if there are warnings only
    #[arg(long)]
    pub(crate) allow_warnings: bool,

    /// Also says what each rule really allows
    #[arg(long)]
    pub(crate) envelope: bool,

    /// For people, or for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// When to use colours; `auto` means for a terminal
    #[arg(long, alias = "color", value_enum, value_name = "WHEN", default_value_t = Colour::Auto)]
    pub(crate) colour: Colour,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The lines that findings are about, marked
    Text,
    /// One JSON object
    Json,
}

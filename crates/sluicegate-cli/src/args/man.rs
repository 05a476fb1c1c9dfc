//! Arguments of `sluicegate man`.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// The folder for the pages of all commands; it is created if it does not exist
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

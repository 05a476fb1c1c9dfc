//! Arguments of `sluicegate version`.

#[derive(Debug, clap::Args)]
pub(crate) struct VersionArgs {
    /// Prints one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

//! `sluicegate schema`: the JSON schema of rule files, for editors.

use crate::exit::CliError;
use crate::output;

pub(crate) fn run() -> Result<(), CliError> {
    Ok(output::print(&sluicegate_rules::schema())?)
}

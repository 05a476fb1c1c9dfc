//! `sluicegate schema`: what may stand in a rule file, for editors.

use crate::failure::Failure;
use crate::output;

pub(crate) fn run() -> Result<(), Failure> {
    Ok(output::print(&sluicegate_rules::schema())?)
}

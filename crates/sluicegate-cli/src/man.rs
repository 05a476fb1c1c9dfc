//! `sluicegate man`: manual pages, made from the definitions of the arguments.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::{Args, ManArgs};
use crate::exit::CliError;
use crate::output;

pub(crate) fn run(args: &ManArgs) -> Result<(), CliError> {
    let mut program = Args::command().disable_help_subcommand(true);
    // Gives each command its full name, as in `sluicegate-serve`.
    program.build();
    match &args.out {
        Some(folder) => write_all(&program, folder)?,
        None => output::print(&String::from_utf8_lossy(&page(&program)?))?,
    }
    Ok(())
}

/// Writes the page of the program and of each command.
fn write_all(program: &Command, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder `{}`", folder.display()))?;
    for command in std::iter::once(program).chain(program.get_subcommands()) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let path = folder.join(format!("{name}.1"));
        fs::write(&path, page(command)?)
            .with_context(|| format!("cannot write the manual page `{}`", path.display()))?;
    }
    Ok(())
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).context("cannot write a manual page")?;
    Ok(page)
}

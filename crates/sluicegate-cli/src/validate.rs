//! `sluicegate validate`: errors and warnings in rule files.

mod json;
mod stdin;

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use sluicegate_rules::{RuleFile, UnreadableFile};

use crate::args::{Format, ValidateArgs};
use crate::exit::CliError;
use crate::output;
use crate::plural::counted;

/// The result for one argument, ordered by severity; the number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum FileVerdict {
    Accepted = 0,
    Refused = 1,
    Unreadable = 2,
}

/// Reports every argument; the exit code is the worst of all.
pub(crate) fn run(args: &ValidateArgs) -> Result<ExitCode, CliError> {
    if args.files.iter().filter(|path| is_stdin(path)).count() > 1 {
        // The second read would return nothing.
        return Err(CliError::usage(anyhow!("cannot read `-` twice\nhint: give it once")));
    }
    let mut worst = FileVerdict::Accepted;
    for path in &args.files {
        worst = worst.max(validate(path, args)?);
    }
    Ok((worst as u8).into())
}

fn validate(path: &Path, args: &ValidateArgs) -> Result<FileVerdict, CliError> {
    let file = match load(path) {
        Ok(file) => file,
        Err(unreadable) => {
            if args.format == Format::Json {
                output::print(&json::unreadable(path, &unreadable)?)?;
            }
            output::print_error(&format!("{}\n", CliError::from(unreadable)));
            return Ok(FileVerdict::Unreadable);
        }
    };
    let warned = file.report.warnings() > 0 && args.deny_warnings;
    let refused = file.report.has_errors() || warned;
    let text = match args.format {
        Format::Text => text(path, &file, args, refused),
        Format::Json => json::text(path, &file, args.envelope, !refused)?,
    };
    output::print(&text)?;
    Ok(if refused { FileVerdict::Refused } else { FileVerdict::Accepted })
}

/// Reads a file or folder as `serve` does, or standard input for `-`.
fn load(path: &Path) -> Result<RuleFile, UnreadableFile> {
    if is_stdin(path) { stdin::load() } else { RuleFile::load(path) }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The findings and a result line, which begins with the path if there are several arguments.
fn text(path: &Path, file: &RuleFile, args: &ValidateArgs, refused: bool) -> String {
    let mut text = file.report.render(args.colour.on(io::stdout().is_terminal()));
    let summary = file.report.summary();
    if refused {
        // Cut off here because it is printed below as the result line.
        text.truncate(text.len() - summary.len());
    }
    if let Some(rules) = file.rules.as_ref().filter(|_| args.envelope) {
        text.push_str(&rules.envelopes());
    }
    if args.files.len() > 1 {
        let _ = write!(text, "{}: ", path.display());
    }
    if refused {
        text.push_str(&summary);
    } else {
        let rules = file.rules.as_ref().map_or(0, |rules| rules.rules().len());
        let warnings = counted(file.report.warnings(), "warning");
        let _ = writeln!(text, "ok: {}, {warnings}", counted(rules, "rule"));
    }
    text
}

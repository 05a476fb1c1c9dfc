//! `sluicegate validate`: everything that is wrong or doubtful in a rule file.

mod json;

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use sluicegate_rules::RuleFile;

use crate::args::{Format, ValidateArgs};
use crate::counted::counted;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &ValidateArgs) -> Result<ExitCode, Failure> {
    let file = RuleFile::load(&args.file)?;
    let warned = file.report.warnings() > 0 && !args.allow_warnings;
    let refused = file.report.has_errors() || warned;
    let text = match args.format {
        Format::Text => text(&file, args, refused),
        Format::Json => json::text(&file, args.envelope, !refused)?,
    };
    output::print(&text)?;
    Ok(if refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn text(file: &RuleFile, args: &ValidateArgs, refused: bool) -> String {
    let mut text = file.report.render(args.colour.on(io::stdout().is_terminal()));
    let Some(rules) = &file.rules else { return text };
    if args.envelope {
        text.push_str(&rules.envelopes());
    }
    if !refused {
        let warnings = counted(file.report.warnings(), "warning");
        let _ = writeln!(text, "ok: {}, {warnings}", counted(rules.rules().len(), "rule"));
    }
    text
}

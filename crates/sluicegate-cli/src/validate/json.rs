//! The JSON report of `sluicegate validate`.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use sluicegate_rules::{Diagnostic, Report, RuleFile, RuleSet, Severity, UnreadableFile};

#[derive(Default, Serialize)]
struct Validated<'r> {
    /// The argument, unchanged.
    path: String,
    ok: bool,
    errors: usize,
    warnings: usize,
    diagnostics: Vec<Finding<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope: Option<String>,
    /// The reason why the file could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<&'r str>,
}

/// A finding. Lines and columns count from one, columns in characters.
#[derive(Serialize)]
struct Finding<'r> {
    severity: &'static str,
    code: &'r str,
    message: &'r str,
    help: Option<&'r str>,
    file: String,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

/// The report line for a file that was read.
pub(super) fn text(path: &Path, file: &RuleFile, envelope: bool, ok: bool) -> Result<String> {
    let report = &file.report;
    line(&Validated {
        path: path.display().to_string(),
        ok,
        errors: report.errors(),
        warnings: report.warnings(),
        diagnostics: report
            .diagnostics()
            .iter()
            .map(|diagnostic| finding(report, diagnostic))
            .collect(),
        envelope: file.rules.as_ref().filter(|_| envelope).map(RuleSet::envelopes),
        unreadable: None,
    })
}

/// The report line for a file that could not be read.
pub(super) fn unreadable(path: &Path, unreadable: &UnreadableFile) -> Result<String> {
    line(&Validated {
        path: path.display().to_string(),
        unreadable: Some(unreadable.reason()),
        ..Validated::default()
    })
}

fn line(validated: &Validated<'_>) -> Result<String> {
    let text = serde_json::to_string(validated).context("cannot write the report as JSON")?;
    Ok(text + "\n")
}

fn finding<'r>(report: &'r Report, diagnostic: &'r Diagnostic) -> Finding<'r> {
    let place = report.locate(diagnostic);
    Finding {
        severity: match diagnostic.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        },
        code: diagnostic.code(),
        message: diagnostic.message(),
        help: diagnostic.help_text(),
        file: place.file,
        line: place.line,
        column: place.column,
        end_line: place.end_line,
        end_column: place.end_column,
    }
}

//! A report for programs.

use anyhow::{Context, Result};
use serde::Serialize;
use sluicegate_rules::{Finding, Report, RuleFile, RuleSet, Severity};

#[derive(Serialize)]
struct Validated<'r> {
    ok: bool,
    errors: usize,
    warnings: usize,
    findings: Vec<Found<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope: Option<String>,
}

/// A finding; lines and columns count from one, columns in characters.
#[derive(Serialize)]
struct Found<'r> {
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

pub(super) fn text(file: &RuleFile, envelope: bool, ok: bool) -> Result<String> {
    let report = &file.report;
    let validated = Validated {
        ok,
        errors: report.errors(),
        warnings: report.warnings(),
        findings: report.findings().iter().map(|finding| found(report, finding)).collect(),
        envelope: file.rules.as_ref().filter(|_| envelope).map(RuleSet::envelopes),
    };
    let text = serde_json::to_string(&validated).context("cannot write the report as JSON")?;
    Ok(text + "\n")
}

fn found<'r>(report: &'r Report, finding: &'r Finding) -> Found<'r> {
    let place = report.locate(finding);
    Found {
        severity: match finding.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        },
        code: finding.code(),
        message: finding.message(),
        help: finding.help_text(),
        file: place.file,
        line: place.line,
        column: place.column,
        end_line: place.end_line,
        end_column: place.end_column,
    }
}

//! Parses the body of a report.

use sluicegate_http::FieldError;
use sluicegate_rules::{Purpose, Request};

use crate::http::endpoints::check::{DescribedRequest, DescribedRequestFields};
use crate::http::json;
use crate::http::json::{ErrorCollector, JsonValue};

/// The body of a report.
#[derive(Debug)]
pub(super) struct ReportBody<'a> {
    described: DescribedRequest<'a>,
    outcome: ReportOutcome,
    failures: u64,
}

/// The outcome of the reported request.
#[derive(Debug, Clone, Copy)]
enum ReportOutcome {
    /// A status; the rules define which are failures.
    Status(u16),
    Failed(bool),
}

/// A field of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportField {
    Attributes,
    Headers,
    Peer,
    Status,
    Failed,
    Failures,
}

impl json::JsonField for ReportField {
    const ALL: &'static [Self] =
        &[Self::Attributes, Self::Headers, Self::Peer, Self::Status, Self::Failed, Self::Failures];
    const EXAMPLE: &'static str =
        r#"{"attributes":{"user":"42","method":"POST","path":"/login"},"status":401}"#;

    fn as_str(self) -> &'static str {
        match self {
            Self::Attributes => "attributes",
            Self::Headers => "headers",
            Self::Peer => "peer",
            Self::Status => "status",
            Self::Failed => "failed",
            Self::Failures => "failures",
        }
    }

    fn depth(self) -> u8 {
        Self::depth_of(self)
    }
}

impl DescribedRequestFields for ReportField {
    const ATTRIBUTES: Self = Self::Attributes;
    const HEADERS: Self = Self::Headers;
    const PEER: Self = Self::Peer;
}

impl<'a> ReportBody<'a> {
    /// Parses a body; the error lists all errors in it.
    pub(super) fn read(body: &'a [u8]) -> Result<Self, Vec<FieldError>> {
        let mut fields = json::object(body)?;
        let mut errors = ErrorCollector::new(&fields);
        let described = DescribedRequest::read(&mut errors, &mut fields);
        let (status, failed) = (fields.take(ReportField::Status), fields.take(ReportField::Failed));
        let outcome = errors.outcome(status, failed);
        let failures = errors.units(ReportField::Failures, fields.take(ReportField::Failures), 1);
        let failures = failures.map_or(1, sluicegate::Cost::units);
        errors.finish(outcome.map(|outcome| Self { described, outcome, failures }))
    }

    /// Returns the reported request.
    pub(super) fn request(&self) -> Request<'_> {
        let purpose = match self.outcome {
            ReportOutcome::Status(status) => Purpose::Failure(Some(status)),
            ReportOutcome::Failed(true) => Purpose::Failure(None),
            ReportOutcome::Failed(false) => Purpose::Success,
        };
        self.described.request().cost(self.failures).purpose(purpose)
    }
}

impl ErrorCollector {
    fn outcome(
        &mut self,
        status: Option<JsonValue<'_>>,
        failed: Option<JsonValue<'_>>,
    ) -> Option<ReportOutcome> {
        match (status, failed) {
            (Some(_), Some(_)) => {
                self.add(ReportField::Failed, "`status` is given too; send only one of them")
            }
            (Some(JsonValue::Whole(status @ 100..=999)), None) => {
                u16::try_from(status).ok().map(ReportOutcome::Status)
            }
            (Some(found), None) => {
                let detail = format!("found {found}; use a status from 100 to 999");
                self.add(ReportField::Status, detail)
            }
            (None, Some(JsonValue::Bool(failed))) => Some(ReportOutcome::Failed(failed)),
            (None, Some(found)) => {
                self.add(ReportField::Failed, format!("found {found}; use true or false"))
            }
            (None, None) => {
                let detail = "it is missing; send the status of the response, or `failed`";
                self.add(ReportField::Status, detail)
            }
        }
    }
}

//! Refusals as problem+json (RFC 9457), with the problem types registered for rate limits.

use std::borrow::Cow;

use http::StatusCode;
use serde::Serialize;
use sluicegate::Mode;

use crate::rate_limit_info::{RateLimitInfo, RefusalKind};

/// A refusal as JSON: a document of its own, or the first fields of a verdict.
#[derive(Debug, Serialize)]
pub struct Problem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    detail: Cow<'a, str>,
    #[serde(rename = "violated-policies", skip_serializing_if = "Option::is_none")]
    violated_policies: Option<Vec<Cow<'a, str>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upgrade: Option<Upgrade<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [FieldError],
}

/// One error in a request: the field, and the value that it needs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// The name of the field, header or parameter.
    pub field: Cow<'static, str>,
    /// The value that was found, and what is valid instead.
    pub detail: String,
}

impl FieldError {
    /// Creates an error of this field.
    pub fn new(field: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self { field: field.into(), detail: detail.into() }
    }
}

/// The page and the message that offer higher limits.
#[derive(Debug, Serialize)]
struct Upgrade<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl<'a> Problem<'a> {
    /// The media type of a problem document.
    pub const CONTENT_TYPE: &'static str = "application/problem+json";

    /// Creates the problem of a request that was not decided, with the errors in its fields.
    pub fn undecided(status: StatusCode, detail: &'a str, errors: &'a [FieldError]) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: Cow::Borrowed(detail),
            violated_policies: None,
            tier: None,
            upgrade: None,
            errors,
        }
    }

    /// Removes the names of the violated limits, which may be hidden from callers.
    #[must_use]
    pub fn for_callers(self) -> Self {
        Self { violated_policies: None, ..self }
    }
}

impl<'a> RateLimitInfo<'a> {
    /// Returns the problem for a refusal with this status; `None` if the request is allowed.
    pub fn problem(&self, status: u16) -> Option<Problem<'a>> {
        let kind = self.refused()?;
        let (name, title) = match kind {
            RefusalKind::Quota => {
                ("https://iana.org/assignments/http-problem-types#quota-exceeded", "Quota exceeded")
            }
            RefusalKind::Capacity => (
                "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
                "Temporary reduced capacity",
            ),
            RefusalKind::Abuse => (
                "https://iana.org/assignments/http-problem-types#abnormal-usage-detected",
                "Abnormal usage detected",
            ),
            RefusalKind::Listed => ("about:blank", "Forbidden"),
            RefusalKind::Unidentified => ("about:blank", "Unauthorized"),
        };
        let upgrade = Upgrade {
            url: self.settings.upgrade_url.as_deref(),
            message: self.settings.upgrade_message.as_deref(),
        };
        let has_upgrade =
            kind == RefusalKind::Quota && (upgrade.url.is_some() || upgrade.message.is_some());
        Some(Problem {
            kind: name,
            title,
            status,
            detail: self.detail(kind),
            violated_policies: self.decided.map(|_| self.violated()),
            tier: self.tier,
            upgrade: has_upgrade.then_some(upgrade),
            errors: &[],
        })
    }

    /// Returns the names of all limits that refuse the request.
    ///
    /// They include those of rules that are left out of headers: use
    /// [`for_callers`](Problem::for_callers) for a body that callers may read.
    fn violated(&self) -> Vec<Cow<'a, str>> {
        let mut violated: Vec<Cow<'a, str>> = Vec::new();
        let Some((checks, verdict)) = self.decided else { return violated };
        let mut before_term = 0;
        for (index, (check, decision)) in checks.iter().zip(verdict.decisions()).enumerate() {
            if !check.is_alternative() {
                before_term = violated.len();
            }
            let Some(decision) = decision.as_ref().filter(|_| check.mode() == Mode::Enforce) else {
                continue;
            };
            if decision.is_allowed() {
                // A term is fulfilled if one of its alternatives admits.
                violated.truncate(before_term);
            } else {
                violated.push(self.policy(index, check));
            }
        }
        violated
    }
}

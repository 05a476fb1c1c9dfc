//! Refusals as problem+json (RFC 9457), with the problem types registered for rate limits.

use std::borrow::Cow;

use http::StatusCode;
use serde::Serialize;
use sluicegate_rules::Rule;

use crate::rate_limit_info::{LimitOutcome, RateLimitInfo, RefusalKind};

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

/// The readers of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The program that asked, and its operator.
    Operator,
    /// The caller that is refused.
    Caller,
}

impl Audience {
    /// Returns whether it may read the name and the state of a rule.
    pub(crate) fn sees(self, rule: Option<&Rule>) -> bool {
        self == Self::Operator || rule.is_none_or(Rule::is_reported)
    }
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
            title: title_of(status.as_u16()),
            status: status.as_u16(),
            detail: Cow::Borrowed(detail),
            violated_policies: None,
            tier: None,
            upgrade: None,
            errors,
        }
    }
}

/// Returns the title of a status.
fn title_of(status: u16) -> &'static str {
    let status = StatusCode::from_u16(status).ok();
    status.and_then(|status| status.canonical_reason()).unwrap_or("Error")
}

impl<'a> RateLimitInfo<'a> {
    /// Returns the problem for a refusal with this status; `None` if the request is allowed.
    ///
    /// That for callers names no rule that is left out of headers.
    pub fn problem(&self, status: u16, audience: Audience) -> Option<Problem<'a>> {
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
            // Without a type the title is that of the status.
            RefusalKind::Listed | RefusalKind::Unidentified => ("about:blank", title_of(status)),
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
            detail: self.detail(kind, audience),
            violated_policies: self.has_checks().then(|| self.violated(audience)),
            tier: self.tier(),
            upgrade: has_upgrade.then_some(upgrade),
            errors: &[],
        })
    }

    /// Returns the names of all limits that refuse the request.
    fn violated(&self, audience: Audience) -> Vec<Cow<'a, str>> {
        let refuses = |limit: &LimitOutcome<'_>| {
            !limit.is_shadow && !limit.term_admits && audience.sees(limit.rule)
        };
        self.limits().filter(refuses).map(|limit| self.policy_name(&limit)).collect()
    }
}

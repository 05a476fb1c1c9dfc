//! A refusal as RFC 9457 writes it, with the types that are registered for rate limits.

use std::borrow::Cow;

use serde::Serialize;
use sluicegate::Gate;

use super::{Kind, Told};

/// A refusal, to be written as JSON: by itself, or before the fields of a verdict.
#[derive(Debug, Serialize)]
pub(crate) struct Problem<'a> {
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
}

/// Where more is to be had.
#[derive(Debug, Serialize)]
struct Upgrade<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl Problem<'_> {
    /// What a body with it is.
    pub(crate) const CONTENT_TYPE: &'static str = "application/problem+json";

    /// The same for those who are refused, without the names of limits that are not told in headers.
    pub(crate) fn for_callers(self) -> Self {
        Self { violated_policies: None, ..self }
    }
}

impl<'a> Told<'a> {
    /// The problem that a refusal is, answered with this status; `None` if the request is allowed.
    pub(crate) fn problem(&self, status: u16) -> Option<Problem<'a>> {
        let kind = self.refused()?;
        let (name, title) = match kind {
            Kind::Quota => {
                ("https://iana.org/assignments/http-problem-types#quota-exceeded", "Quota exceeded")
            }
            Kind::Capacity => (
                "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
                "Temporary reduced capacity",
            ),
            Kind::Abuse => (
                "https://iana.org/assignments/http-problem-types#abnormal-usage-detected",
                "Abnormal usage detected",
            ),
            Kind::Listed => ("about:blank", "Forbidden"),
            Kind::Unidentified => ("about:blank", "Unauthorized"),
        };
        let upgrade = Upgrade {
            url: self.settings.upgrade_url.as_deref(),
            message: self.settings.upgrade_message.as_deref(),
        };
        let told = kind == Kind::Quota && (upgrade.url.is_some() || upgrade.message.is_some());
        Some(Problem {
            kind: name,
            title,
            status,
            detail: self.detail(kind),
            violated_policies: self.asked.map(|_| self.violated()),
            tier: self.tier,
            upgrade: told.then_some(upgrade),
        })
    }

    /// The names of all limits that stand in the way. Those of rules that are left out of headers are
    /// among them: who is not to read them is not to be sent this body.
    fn violated(&self) -> Vec<Cow<'a, str>> {
        let mut violated: Vec<Cow<'a, str>> = Vec::new();
        let Some((checks, verdict)) = self.asked else { return violated };
        let mut before_term = 0;
        for (place, (check, made)) in checks.iter().zip(verdict.decisions()).enumerate() {
            if !check.is_alternative() {
                before_term = violated.len();
            }
            let Some(made) = made.as_ref().filter(|_| check.gate() == Gate::Enforce) else {
                continue;
            };
            if made.is_allowed() {
                // What is met by one of several ways is met.
                violated.truncate(before_term);
            } else {
                violated.push(self.policy(place, check));
            }
        }
        violated
    }
}

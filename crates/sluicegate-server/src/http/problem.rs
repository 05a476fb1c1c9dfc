//! What can be wrong with a request, as RFC 9457 writes it.

use std::borrow::Cow;

use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Response, StatusCode};
use serde::Serialize;
use sluicegate::{CheckError, Limiter};

use super::Answer;
use super::route::Route;

const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Why a request was not decided.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    mistakes: Vec<Mistake>,
    allow: Option<&'static str>,
    /// What is left of the request is not going to be read.
    closes: bool,
}

/// One thing that is wrong in a request: where, what was found, what would be right.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Mistake {
    pub(super) field: Cow<'static, str>,
    pub(super) detail: String,
}

impl Mistake {
    pub(super) fn new(field: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self { field: field.into(), detail: detail.into() }
    }
}

impl Problem {
    fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { status, detail, mistakes: Vec::new(), allow: None, closes: false }
    }

    /// A request that says something else than it has to.
    pub(super) fn mistaken(mistakes: Vec<Mistake>) -> Self {
        let detail = match mistakes.len() {
            1 => "the request has a mistake; `errors` says which".to_owned(),
            count => format!("the request has {count} mistakes; `errors` lists them all"),
        };
        Self { mistakes, ..Self::new(StatusCode::BAD_REQUEST, detail) }
    }

    /// A body that ended before it was whole.
    pub(super) fn broken_body() -> Self {
        let detail = "the body ended or broke before it was whole; send the request again";
        Self { closes: true, ..Self::new(StatusCode::BAD_REQUEST, detail) }
    }

    /// A body that took too long to arrive.
    pub(super) fn late_body(seconds: u64) -> Self {
        let detail = format!("the body did not arrive within {seconds} seconds; send it faster");
        Self { closes: true, ..Self::new(StatusCode::REQUEST_TIMEOUT, detail) }
    }

    /// A body that is too long.
    pub(super) fn long_body(most: usize) -> Self {
        let detail = format!("the body is longer than {most} bytes; send a shorter one");
        Self { closes: true, ..Self::new(StatusCode::PAYLOAD_TOO_LARGE, detail) }
    }

    /// A body that is something else than JSON.
    pub(super) fn unreadable_body(detail: String) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
    }

    pub(super) fn not_found(path: &str) -> Self {
        let path: String = path.chars().take(100).collect();
        let detail = format!("there is nothing at `{path}`; `/` lists what there is");
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub(super) fn wrong_method(method: &Method, route: Route) -> Self {
        let (path, methods) = (route.path(), route.methods());
        let method: String = method.as_str().chars().take(30).collect();
        let detail = format!("`{path}` cannot be asked with {method}; use {methods}");
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Self { allow: Some(methods), ..Self::new(status, detail) }
    }

    /// A request that could not be decided: never, or not at this moment.
    #[allow(clippy::needless_pass_by_value, reason = "it is what errors are mapped with")]
    pub(super) fn undecided(error: CheckError) -> Self {
        let status = match error {
            CheckError::KeyTooLong { .. } | CheckError::TooManyChecks { .. } => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, undecided(&error))
    }

    /// A mistake of ours.
    pub(super) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    pub(super) fn into_answer(self) -> Answer {
        let body = Body {
            kind: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            errors: &self.mistakes,
        };
        // Writing text and numbers to memory does not fail.
        let mut answer = Response::new(Full::from(serde_json::to_vec(&body).unwrap_or_default()));
        *answer.status_mut() = self.status;
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_TYPE, CONTENT_TYPE);
        headers.insert(header::CACHE_CONTROL, NO_STORE);
        if let Some(methods) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(methods));
        }
        if self.closes {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }
}

/// Why a request could not be decided, and what to do about it.
pub(super) fn undecided(error: &CheckError) -> String {
    match error {
        CheckError::TooManyChecks { found } => format!(
            "the rules that apply to the request have {found} limits together, and {} at most are \
             decided in one step; let some of them apply to fewer requests",
            Limiter::<sluicegate::Memory>::MAX_CHECKS
        ),
        other => other.to_string(),
    }
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [Mistake],
}

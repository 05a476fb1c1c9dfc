//! Errors of requests that were not decided, as problem+json (RFC 9457).

use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Response, StatusCode};
use sluicegate::{CheckError, Limiter};
use sluicegate_http::{FieldError, Problem};

use super::HttpResponse;
use super::route::Route;

const CONTENT_TYPE: HeaderValue = HeaderValue::from_static(Problem::CONTENT_TYPE);
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The reason that a request was not decided.
#[derive(Debug)]
pub(super) struct RequestError {
    status: StatusCode,
    detail: String,
    errors: Vec<FieldError>,
    allow: Option<&'static str>,
    /// Whether to close the connection, because the rest of the request is not read.
    closes: bool,
}

impl RequestError {
    fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { status, detail, errors: Vec::new(), allow: None, closes: false }
    }

    /// A request with invalid fields.
    pub(super) fn invalid(errors: Vec<FieldError>) -> Self {
        let detail = match errors.len() {
            1 => "the request has an error; see `errors`".to_owned(),
            count => format!("the request has {count} errors; `errors` lists them all"),
        };
        Self { errors, ..Self::new(StatusCode::BAD_REQUEST, detail) }
    }

    /// A body that ended before it was complete.
    pub(super) fn broken_body() -> Self {
        let detail = "the body ended before it was complete; send the request again";
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

    /// A body of another type than JSON.
    pub(super) fn unreadable_body(detail: String) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
    }

    pub(super) fn not_found(path: &str) -> Self {
        let path: String = path.chars().take(100).collect();
        let detail = format!("there is no endpoint `{path}`; `/` lists all endpoints");
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub(super) fn wrong_method(method: &Method, route: Route) -> Self {
        let (path, methods) = (route.path(), route.methods());
        let method: String = method.as_str().chars().take(30).collect();
        let detail = format!("`{path}` does not support {method}; use {methods}");
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Self { allow: Some(methods), ..Self::new(status, detail) }
    }

    /// A request that could not be decided, permanently or at this moment.
    #[allow(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
    pub(super) fn undecided(error: CheckError) -> Self {
        let status = match error {
            CheckError::KeyTooLong { .. } | CheckError::TooManyChecks { .. } => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, undecided(&error))
    }

    /// An internal error.
    pub(super) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    pub(super) fn into_answer(self) -> HttpResponse {
        let body = Problem::undecided(self.status, &self.detail, &self.errors);
        // Serializing texts and numbers does not fail.
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

/// Returns the reason that a request could not be decided, and a remedy.
pub(super) fn undecided(error: &CheckError) -> String {
    match error {
        CheckError::TooManyChecks { found } => format!(
            "the rules that apply to the request have {found} limits together, and at most {} are \
             decided in one step; narrow the `match` of some of them",
            Limiter::<sluicegate::Memory>::MAX_CHECKS
        ),
        other => other.to_string(),
    }
}

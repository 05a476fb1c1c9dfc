//! How a caller stands, in the headers clients already know.
//!
//! `RateLimit` and `RateLimit-Policy` are structured fields as in
//! draft-ietf-httpapi-ratelimit-headers-10; the `X-RateLimit` family is what most clients
//! read today; `Retry-After` is HTTP's own.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue, RETRY_AFTER};
use tollgate::{Decision, Limit};

const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
/// The largest integer of a structured field: fifteen digits.
const LARGEST: u64 = 999_999_999_999_999;

/// Writes the headers for the decision that says most about a verdict.
///
/// The name of a rule has nothing in it that needs escaping inside quotes.
pub(super) fn write(headers: &mut HeaderMap, rule: &str, limit: &Limit, decision: &Decision) {
    let reset = decision.reset_after().as_secs_ceil();
    let retry = decision.retry_after().map(|span| span.as_secs_ceil().max(1));

    headers.insert(X_LIMIT, decision.limit().into());
    headers.insert(X_REMAINING, decision.remaining().into());
    headers.insert(X_RESET, reset.into());
    let quota = limit.capacity().min(LARGEST);
    let policy = match limit.recovery() {
        Some(span) => format!("\"{rule}\";q={quota};w={}", window(span.as_secs_ceil())),
        None => format!("\"{rule}\";q={quota}"),
    };
    insert(headers, POLICY, policy);
    let remaining = decision.remaining().min(LARGEST);
    let until = retry.unwrap_or(reset).min(LARGEST);
    insert(headers, RATE_LIMIT, format!("\"{rule}\";r={remaining};t={until}"));
    if let Some(seconds) = retry {
        headers.insert(RETRY_AFTER, seconds.into());
    }
}

/// What a caller has to do that did not say who it is: tell this identity.
pub(super) fn challenge(identity: &str) -> HeaderValue {
    let plain = |letter: u8| letter.is_ascii_alphanumeric() || b"_.-".contains(&letter);
    let named = identity.bytes().all(plain).then(|| format!("Tollgate identity=\"{identity}\""));
    // An identity may be called anything; a header's value may not.
    let named = named.and_then(|text| HeaderValue::try_from(text).ok());
    named.unwrap_or(HeaderValue::from_static("Tollgate"))
}

/// A window is at least a second long: zero would mean none.
fn window(seconds: u64) -> u64 {
    seconds.clamp(1, LARGEST)
}

fn insert(headers: &mut HeaderMap, name: HeaderName, text: String) {
    // Digits and our own names are always a valid value.
    if let Ok(value) = HeaderValue::try_from(text) {
        headers.insert(name, value);
    }
}

//! The claims of a token, with the checks of its time, issuer and audience.

use core::fmt;
use std::borrow::Cow;

use serde_json::{Map, Number, Value};
use sluicegate_core::{Span, Time};

use super::rejection::TokenRejection;
use super::token::read_json;

const MICROS_PER_SECOND: i128 = 1_000_000;
/// From here on floating-point numbers cannot distinguish adjacent integers.
const EXACT_FLOATS_END: f64 = 9_007_199_254_740_992.0;

/// The claims of a token. If a name is repeated, the last one is used (RFC 7519, 4).
pub(crate) struct Claims {
    claims: Map<String, Value>,
}

impl Claims {
    pub(super) fn read(payload: &[u8]) -> Result<Self, TokenRejection> {
        match read_json(payload)? {
            Value::Object(claims) => Ok(Self { claims }),
            _ => Err(TokenRejection::Malformed),
        }
    }

    /// A claim as text: `sub`, or `org.id` for one inside another.
    ///
    /// Names may hold dots themselves, as in `https://example.com/plan`: in each object the
    /// longest name that the path begins with is followed, and no other. Strings, numbers and
    /// booleans have a text; lists, objects and `null` have none, nor has a number too large to
    /// have been read exactly: two of those could look alike.
    pub(crate) fn text(&self, claim: &str) -> Option<Cow<'_, str>> {
        match follow(&self.claims, claim)? {
            Value::String(text) => Some(Cow::Borrowed(text)),
            Value::Bool(true) => Some(Cow::Borrowed("true")),
            Value::Bool(false) => Some(Cow::Borrowed("false")),
            Value::Number(number) => number_text(number).map(Cow::Owned),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Checks that the token is valid at `now`.
    ///
    /// A token is valid from `nbf` up to, not including, `exp` (RFC 7519, 4.1.4 and 4.1.5); one
    /// with neither is always valid.
    pub(super) fn check_time(&self, now: Time, leeway: Span) -> Result<(), TokenRejection> {
        let now = i128::from(now.as_micros());
        let leeway = i128::from(leeway.as_micros());
        if self.micros("exp")?.is_some_and(|expiry| now >= expiry.saturating_add(leeway)) {
            return Err(TokenRejection::Expired);
        }
        if self.micros("nbf")?.is_some_and(|start| now.saturating_add(leeway) < start) {
            return Err(TokenRejection::NotYet);
        }
        Ok(())
    }

    pub(super) fn check_issuer(&self, issuer: &str) -> Result<(), TokenRejection> {
        let given = self.claims.get("iss").and_then(Value::as_str);
        if given == Some(issuer) { Ok(()) } else { Err(TokenRejection::Issuer) }
    }

    /// Checks that one of the audiences matches; a token may have several.
    pub(super) fn check_audience(&self, audience: &[String]) -> Result<(), TokenRejection> {
        let ours = |value: &Value| {
            value.as_str().is_some_and(|given| audience.iter().any(|name| name == given))
        };
        let meant = match self.claims.get("aud") {
            Some(Value::Array(names)) => names.iter().any(ours),
            Some(name) => ours(name),
            None => false,
        };
        if meant { Ok(()) } else { Err(TokenRejection::Audience) }
    }

    /// A time claim in microseconds.
    ///
    /// A claim that is not a number makes the token malformed: its validity was meant to be
    /// limited, so it must not be valid for ever.
    fn micros(&self, claim: &str) -> Result<Option<i128>, TokenRejection> {
        let Some(value) = self.claims.get(claim) else { return Ok(None) };
        let Value::Number(seconds) = value else { return Err(TokenRejection::Malformed) };
        let whole = seconds.as_i64().map(i128::from).or(seconds.as_u64().map(i128::from));
        if let Some(whole) = whole {
            return Ok(Some(whole * MICROS_PER_SECOND));
        }
        let seconds =
            seconds.as_f64().filter(|it| it.is_finite()).ok_or(TokenRejection::Malformed)?;
        #[allow(clippy::cast_possible_truncation, reason = "saturates, which is meant")]
        let micros = (seconds * 1e6).round() as i128;
        Ok(Some(micros))
    }
}

/// Follows a path of dotted names through nested objects.
fn follow<'c>(object: &'c Map<String, Value>, path: &str) -> Option<&'c Value> {
    let mut object = object;
    let mut path = path;
    loop {
        if let Some(value) = object.get(path) {
            return Some(value);
        }
        let dots = path.rmatch_indices('.').map(|(at, _)| at);
        let mut steps = dots.filter_map(|at| {
            let (name, rest) = (path.get(..at)?, path.get(at + 1..)?);
            Some((object.get(name)?, rest))
        });
        let (value, rest) = steps.next()?;
        object = value.as_object()?;
        path = rest;
    }
}

/// A number in canonical form, so that `7`, `7.0` and `70e-1` give the same text.
fn number_text(number: &Number) -> Option<String> {
    if let Some(whole) = number.as_i64() {
        return Some(whole.to_string());
    }
    if let Some(whole) = number.as_u64() {
        return Some(whole.to_string());
    }
    // Adding zero turns minus zero into zero.
    let float = number.as_f64()? + 0.0;
    (float.abs() < EXACT_FLOATS_END).then(|| float.to_string())
}

/// Shows no claims, because they are personal data.
impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims").finish_non_exhaustive()
    }
}

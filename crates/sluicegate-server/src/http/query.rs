//! The query of a request: the status of refusals.

use std::ops::RangeInclusive;

use hyper::StatusCode;
use sluicegate_http::FieldError;

const DENY_STATUS: &str = "deny_status";

/// The statuses that a caller may choose for refusals.
pub(super) const ANY_STATUS: RangeInclusive<u16> = 200..=599;
/// The statuses that every proxy treats as a refusal.
pub(super) const ERROR_STATUS: RangeInclusive<u16> = 400..=599;

/// Returns the status of refusals, if the query sets one.
///
/// Other parameters are errors, because a misspelt one would otherwise be ignored silently.
pub(super) fn deny_status(
    query: Option<&str>,
    statuses: &RangeInclusive<u16>,
) -> Result<Option<StatusCode>, FieldError> {
    let mut found = None;
    for parameter in query.unwrap_or_default().split('&').filter(|one| !one.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if name != DENY_STATUS {
            let detail =
                format!("the query has no such parameter; the only one is `{DENY_STATUS}`");
            return Err(FieldError::new(truncated(name), detail));
        }
        let status = status(value, statuses).ok_or_else(|| {
            let (found, least, most) = (truncated(value), statuses.start(), statuses.end());
            let detail = format!("found `{found}`; use a status from {least} to {most}");
            FieldError::new(DENY_STATUS, detail)
        })?;
        if found.replace(status).is_some() {
            let detail = "the query gives it more than once; give it once";
            return Err(FieldError::new(DENY_STATUS, detail));
        }
    }
    Ok(found)
}

/// Checks that an endpoint without parameters has no query.
pub(super) fn none(query: Option<&str>) -> Result<(), FieldError> {
    match query {
        None | Some("") => Ok(()),
        Some(_) => {
            Err(FieldError::new("query", "this endpoint has no query parameters; remove the query"))
        }
    }
}

fn status(value: &str, statuses: &RangeInclusive<u16>) -> Option<StatusCode> {
    let three_digits = value.len() == 3 && value.bytes().all(|digit| digit.is_ascii_digit());
    let number = value.parse().ok().filter(|number| statuses.contains(number));
    number.filter(|_| three_digits).and_then(|number| StatusCode::from_u16(number).ok())
}

fn truncated(value: &str) -> String {
    value.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_three_digits_within_the_range() {
        assert_eq!(deny_status(None, &ANY_STATUS), Ok(None));
        assert_eq!(deny_status(Some(""), &ANY_STATUS), Ok(None));
        assert_eq!(deny_status(Some("deny_status=200"), &ANY_STATUS), Ok(Some(StatusCode::OK)));
        let teapot = Ok(Some(StatusCode::IM_A_TEAPOT));
        assert_eq!(deny_status(Some("&deny_status=418&"), &ERROR_STATUS), teapot);
        for (statuses, least, below) in [(ANY_STATUS, 200, "=199"), (ERROR_STATUS, 400, "=399")] {
            for wrong in [below, "", "=", "=600", "=+20", "=0200", "=abc", "=2e2", "=99999"] {
                let error = deny_status(Some(&format!("deny_status{wrong}")), &statuses);
                let error = error.unwrap_err();
                assert_eq!(error.field, DENY_STATUS);
                let fix = format!("use a status from {least} to 599");
                assert!(error.detail.ends_with(&fix), "{error:?}");
            }
        }
    }

    #[test]
    fn repeated_and_unknown_parameters_are_errors() {
        let twice = deny_status(Some("deny_status=403&deny_status=503"), &ERROR_STATUS);
        assert_eq!(twice.unwrap_err().detail, "the query gives it more than once; give it once");
        let unknown = deny_status(Some("deny_staus=403"), &ERROR_STATUS).unwrap_err();
        assert_eq!(unknown.field, "deny_staus");
    }
}

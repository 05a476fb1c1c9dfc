//! What the query of a request may say: the status to be refused with.

use std::ops::RangeInclusive;

use hyper::StatusCode;

use crate::http::problem::Mistake;

const DENY_STATUS: &str = "deny_status";

/// Statuses that a caller may choose for its refusals.
pub(super) const ANY_STATUS: RangeInclusive<u16> = 200..=599;
/// Statuses that every proxy takes for a refusal.
pub(super) const ERROR_STATUS: RangeInclusive<u16> = 400..=599;

/// The status to refuse with, where the query says one.
///
/// Other parameters are mistakes: a misspelt one would leave the status as it is, unnoticed.
pub(super) fn deny_status(
    query: Option<&str>,
    statuses: &RangeInclusive<u16>,
) -> Result<Option<StatusCode>, Mistake> {
    let mut found = None;
    for parameter in query.unwrap_or_default().split('&').filter(|one| !one.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if name != DENY_STATUS {
            let detail =
                format!("the query has no such parameter; the only one is `{DENY_STATUS}`");
            return Err(Mistake::new(shortened(name), detail));
        }
        let status = status(value, statuses).ok_or_else(|| {
            let (found, least, most) = (shortened(value), statuses.start(), statuses.end());
            let detail = format!("found `{found}`; use a status from {least} to {most}");
            Mistake::new(DENY_STATUS, detail)
        })?;
        if found.replace(status).is_some() {
            let detail = "the query gives it more than once; give it once";
            return Err(Mistake::new(DENY_STATUS, detail));
        }
    }
    Ok(found)
}

/// Nothing: for what is always answered 200.
pub(super) fn nothing(query: Option<&str>) -> Result<(), Mistake> {
    match query {
        None | Some("") => Ok(()),
        Some(_) => Err(Mistake::new(
            "query",
            "it is always answered 200; leave out what is behind the `?`",
        )),
    }
}

fn status(value: &str, statuses: &RangeInclusive<u16>) -> Option<StatusCode> {
    let three_digits = value.len() == 3 && value.bytes().all(|digit| digit.is_ascii_digit());
    let number = value.parse().ok().filter(|number| statuses.contains(number));
    number.filter(|_| three_digits).and_then(|number| StatusCode::from_u16(number).ok())
}

fn shortened(value: &str) -> String {
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
                let mistake = deny_status(Some(&format!("deny_status{wrong}")), &statuses);
                let mistake = mistake.unwrap_err();
                assert_eq!(mistake.field, DENY_STATUS);
                let fix = format!("use a status from {least} to 599");
                assert!(mistake.detail.ends_with(&fix), "{mistake:?}");
            }
        }
    }

    #[test]
    fn a_parameter_twice_or_unknown_is_a_mistake() {
        let twice = deny_status(Some("deny_status=403&deny_status=503"), &ERROR_STATUS);
        assert_eq!(twice.unwrap_err().detail, "the query gives it more than once; give it once");
        let unknown = deny_status(Some("deny_staus=403"), &ERROR_STATUS).unwrap_err();
        assert_eq!(unknown.field, "deny_staus");
    }
}

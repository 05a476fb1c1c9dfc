//! Checks that the content type of a body is JSON or unspecific.

use hyper::HeaderMap;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};

/// The content types that are read as JSON.
///
/// `curl -d` sends the type of a form, and many clients send that of a text.
const ACCEPTED: [&str; 4] =
    ["application/json", "application/x-www-form-urlencoded", "text/json", "text/plain"];

/// Checks whether a body can be read as JSON.
pub(super) fn check(headers: &HeaderMap) -> Result<(), String> {
    let encoding = headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes);
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
        return Err("the body is compressed; send it uncompressed".to_owned());
    }
    let Some(kind) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    // Fast path: the usual spelling.
    if kind == "application/json" {
        return Ok(());
    }
    let kind = kind.to_str().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if ACCEPTED.iter().any(|accepted| kind.eq_ignore_ascii_case(accepted)) {
        return Ok(());
    }
    let kind = kind.to_ascii_lowercase();
    if kind.ends_with("+json") {
        return Ok(());
    }
    let kind: String = kind.chars().take(60).collect();
    Err(format!("the content type is `{kind}`; send JSON as application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_content_types_of_json_are_accepted() {
        for (kind, accepted) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/x-www-form-urlencoded", true),
            ("text/plain;charset=UTF-8", true),
            ("application/vnd.acme.v1+json", true),
            ("", false),
            ("application/xml", false),
            ("application/jsonp", false),
            ("multipart/form-data; boundary=json", false),
            ("image/png", false),
        ] {
            let mut headers = HeaderMap::new();
            assert_eq!(check(&headers), Ok(()), "no content type");
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            assert_eq!(check(&headers).is_ok(), accepted, "{kind}");
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("identity"));
            assert_eq!(check(&headers).is_ok(), accepted, "{kind}");
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            assert!(check(&headers).is_err(), "{kind}");
        }
    }
}

//! What bodies are said to be: JSON, or nothing that says otherwise.

use hyper::HeaderMap;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};

/// What is taken for JSON. `curl -d` calls everything a form, and many clients call everything a text.
const TAKEN: [&str; 4] =
    ["application/json", "application/x-www-form-urlencoded", "text/json", "text/plain"];

/// Whether a body can be read as JSON; the error says why not.
pub(super) fn check(headers: &HeaderMap) -> Result<(), String> {
    let encoding = headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes);
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
        return Err("the body is compressed; send it as it is".to_owned());
    }
    let Some(kind) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    // As nearly everybody says it.
    if kind == "application/json" {
        return Ok(());
    }
    let kind = kind.to_str().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if TAKEN.iter().any(|taken| kind.eq_ignore_ascii_case(taken)) {
        return Ok(());
    }
    let kind = kind.to_ascii_lowercase();
    if kind.ends_with("+json") {
        return Ok(());
    }
    let kind: String = kind.chars().take(60).collect();
    Err(format!("the body is said to be `{kind}`; send JSON, as application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_under_its_usual_names_is_taken() {
        for (kind, taken) in [
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
            assert_eq!(check(&headers), Ok(()), "nothing is said");
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            assert_eq!(check(&headers).is_ok(), taken, "{kind}");
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("identity"));
            assert_eq!(check(&headers).is_ok(), taken, "{kind}");
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            assert!(check(&headers).is_err(), "{kind}");
        }
    }
}

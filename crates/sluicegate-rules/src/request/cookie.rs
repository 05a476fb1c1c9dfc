//! Lookup of one cookie of a request.

use crate::request::Headers;

/// The value of a cookie; `None` if it is absent or has several different values.
pub(crate) fn unique<'r>(headers: &'r dyn Headers, name: &str) -> Option<&'r [u8]> {
    let mut found = None;
    let mut ambiguous = false;
    each(headers, name, &mut |value| {
        ambiguous |= found.is_some_and(|earlier| earlier != value);
        found = Some(value);
    });
    found.filter(|_| !ambiguous)
}

/// Visits every value of a cookie, over all lines.
pub(crate) fn each<'r>(headers: &'r dyn Headers, name: &str, visit: &mut dyn FnMut(&'r [u8])) {
    headers.each("cookie", &mut |line| {
        for pair in line.split(|byte| *byte == b';') {
            let Some(equals) = pair.iter().position(|byte| *byte == b'=') else { continue };
            if pair[..equals].trim_ascii() == name.as_bytes() {
                visit(unquoted(pair[equals + 1..].trim_ascii()));
            }
        }
    });
}

fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others_and_over_several_lines() {
        let headers = [
            ("Cookie", "a=1; sid=\"x=y\" ;b=2"),
            ("cookie", "other=3;sid=x=y"),
            ("cookie", "twice=1; twice=2; flag"),
        ];
        assert_eq!(unique(&headers, "sid"), Some(&b"x=y"[..]));
        assert_eq!(unique(&headers, "b"), Some(&b"2"[..]));
        assert_eq!(unique(&headers, "twice"), None, "it could be either");
        assert_eq!(unique(&headers, "flag"), None);
        assert_eq!(unique(&headers, "SID"), None, "names of cookies are case-sensitive");
    }
}

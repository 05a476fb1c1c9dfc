//! Lookup of one parameter of a request's query.

use std::borrow::Cow;

/// The value of a query parameter; `None` if it is absent or has several different values.
pub(crate) fn unique<'r>(target: &'r [u8], name: &str) -> Option<Cow<'r, [u8]>> {
    let mut found: Option<Cow<'r, [u8]>> = None;
    let mut ambiguous = false;
    each(target, name, &mut |value| {
        ambiguous |= found.as_ref().is_some_and(|earlier| *earlier != value);
        found = Some(value);
    });
    found.filter(|_| !ambiguous)
}

/// Visits every value of a query parameter.
pub(crate) fn each<'r>(target: &'r [u8], name: &str, visit: &mut dyn FnMut(Cow<'r, [u8]>)) {
    let Some(question) = target.iter().position(|byte| *byte == b'?') else { return };
    let query = target[question + 1..].split(|byte| *byte == b'#').next().unwrap_or_default();
    for pair in query.split(|byte| *byte == b'&') {
        let equals = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        if *decoded(&pair[..equals]) == *name.as_bytes() {
            visit(decoded(pair.get(equals + 1..).unwrap_or_default()));
        }
    }
}

/// A form-encoded text with `%XX` and `+` decoded.
fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        out.push(match (first, behind) {
            (b'+', _) => b' ',
            (b'%', [high, low, after @ ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => {
                    rest = after;
                    high << 4 | low
                }
                _ => b'%',
            },
            (byte, _) => *byte,
        });
    }
    Cow::Owned(out)
}

fn digit(letter: u8) -> Option<u8> {
    char::from(letter).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_however_it_is_spelt() {
        for (target, value) in [
            ("/x?key=a", Some("a")),
            ("/x?a=1&key=a%20b+c", Some("a b c")),
            ("/x?%6bey=a", Some("a")),
            ("/x?key=100%", Some("100%")),
            ("/x?key=%zz", Some("%zz")),
            ("/x?key=a&key=a", Some("a")),
            ("/x?key=a&key=b", None),
            ("/x?keys=a", None),
            ("/x?key", Some("")),
            ("/x", None),
            ("/x?key=a#key=b", Some("a")),
        ] {
            let found = unique(target.as_bytes(), "key");
            assert_eq!(found.as_deref(), value.map(str::as_bytes), "{target}");
        }
    }
}

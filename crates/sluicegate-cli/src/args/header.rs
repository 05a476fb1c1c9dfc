//! A header line on the command line.

use std::str::FromStr;

/// A header line. `Debug` omits the value because it may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct HeaderArg {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl std::fmt::Debug for HeaderArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Header").field("name", &self.name).finish_non_exhaustive()
    }
}

impl FromStr for HeaderArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = text
            .split_once(':')
            .ok_or("use a name, a colon and a value, as in 'x-api-key: secret'")?;
        let token =
            |letter: u8| letter.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&letter);
        if name.is_empty() || !name.bytes().all(token) {
            return Err("the name before the colon is not a header name; \
                        use letters, digits and dashes, as in 'x-api-key: secret'");
        }
        let value = value.trim_matches([' ', '\t']);
        if value.contains(['\r', '\n', '\0']) {
            return Err("the value has a line break; use one line of text");
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_name_a_colon_and_a_value() {
        for (text, name, value) in [
            ("x-api-key: secret", "x-api-key", "secret"),
            ("X-Api-Key:secret", "X-Api-Key", "secret"),
            ("x-empty:", "x-empty", ""),
            ("x-time: 10:00 \t", "x-time", "10:00"),
            ("x-two: a  b", "x-two", "a  b"),
        ] {
            let header: HeaderArg = text.parse().unwrap();
            assert_eq!((header.name.as_str(), header.value.as_str()), (name, value), "{text}");
        }
        for wrong in ["", "x-api-key", ": value", "x api key: value", "x: a\nb: c", " x: a"] {
            assert!(wrong.parse::<HeaderArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn debug_omits_the_value() {
        let header: HeaderArg = "x-api-key: hunter2".parse().unwrap();
        assert!(!format!("{header:?}").contains("hunter2"));
    }
}

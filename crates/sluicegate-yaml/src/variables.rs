//! Substitution of `${NAME}`, `${NAME:-default}` and `$$` in values.

use super::parse::Environment;

/// A value after the substitution of its variables.
pub(crate) struct Substituted {
    pub(crate) text: String,
    /// Whether part of the text came from the environment.
    pub(crate) secret: bool,
    pub(crate) problems: Vec<VariableError>,
}

/// A variable that could not be substituted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct VariableError {
    /// The text from `${` on, by which its place is found.
    pub(crate) written: String,
    pub(crate) reason: VariableErrorKind,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum VariableErrorKind {
    NotSet(String),
    NotClosed,
    BadName,
}

/// Whether a text contains a variable or an escaped dollar sign.
pub(crate) fn has_any(written: &str) -> bool {
    written.contains("${") || written.contains("$$")
}

/// Substitutes the variables of a text.
///
/// A single dollar sign stays as it is, because patterns end with one.
pub(crate) fn fill(written: &str, env: Environment<'_>) -> Substituted {
    let mut filled = Substituted { text: String::new(), secret: false, problems: Vec::new() };
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('$') {
        filled.text.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            filled.text.push('$');
            rest = after;
        } else if let Some(inner) = after.strip_prefix('{') {
            let Some((inner, after)) = inner.split_once('}') else {
                filled.fail(format!("${{{inner}"), VariableErrorKind::NotClosed);
                return filled;
            };
            filled.variable(inner, env);
            rest = after;
        } else {
            filled.text.push('$');
            rest = after;
        }
    }
    filled.text.push_str(rest);
    filled
}

impl Substituted {
    fn variable(&mut self, inner: &str, env: Environment<'_>) {
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let written = || format!("${{{inner}}}");
        if !is_name(name) || inner.contains("${") {
            return self.fail(written(), VariableErrorKind::BadName);
        }
        // As in a shell, the default also replaces an empty variable.
        match (env(name).filter(|value| default.is_none() || !value.is_empty()), default) {
            (Some(value), _) => {
                self.text.push_str(&value);
                self.secret = true;
            }
            (None, Some(default)) => self.text.push_str(default),
            (None, None) => self.fail(written(), VariableErrorKind::NotSet(name.to_owned())),
        }
    }

    fn fail(&mut self, written: String, reason: VariableErrorKind) {
        self.problems.push(VariableError { written, reason });
    }
}

/// Whether a name is valid in a shell.
fn is_name(name: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitutes_variables_and_keeps_single_dollar_signs() {
        let env = |name: &str| match name {
            "A" => Some("one".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (written, text, secret) in [
            ("plain", "plain", false),
            ("${A}", "one", true),
            ("x${A}y${A}", "xoneyone", true),
            ("${A:-two}", "one", true),
            ("${B:-two}", "two", false),
            ("${B:-}", "", false),
            ("${EMPTY:-two}", "two", false),
            ("${EMPTY}", "", true),
            ("$${A}", "${A}", false),
            ("^/api/$", "^/api/$", false),
            ("$A costs $5", "$A costs $5", false),
            ("$$$", "$$", false),
        ] {
            let filled = fill(written, &env);
            assert_eq!((filled.text.as_str(), filled.secret), (text, secret), "{written}");
            assert_eq!(filled.problems, [], "{written}");
        }
    }

    #[test]
    fn problems_name_the_variable() {
        for (written, place, reason) in [
            ("a ${B} c", "${B}", VariableErrorKind::NotSet("B".to_owned())),
            ("a ${B c", "${B c", VariableErrorKind::NotClosed),
            ("${}", "${}", VariableErrorKind::BadName),
            ("${1B}", "${1B}", VariableErrorKind::BadName),
            ("${A-B}", "${A-B}", VariableErrorKind::BadName),
            ("${B:-${C}}", "${B:-${C}", VariableErrorKind::BadName),
        ] {
            let filled = fill(written, &|_| None);
            assert_eq!(filled.problems, [VariableError { written: place.to_owned(), reason }]);
        }
    }
}

//! Host patterns of rules: one name, or every name below one.

use core::fmt;
use core::ops::Range;

use super::HostName;
use crate::request::path::PatternError;

/// `shop.example.com`, or `*.example.com` for every name below, but not for the bare domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPattern {
    /// The name; after a star, it starts with its dot.
    name: Box<str>,
    below: bool,
}

impl HostPattern {
    /// Parses a pattern; the error has a message and a hint.
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        refuse_more_than_a_host(text)?;
        let below = text.starts_with("*.");
        let name = text.strip_prefix('*').filter(|_| below).unwrap_or(text);
        let start = text.len() - name.len();
        if name.starts_with('[') {
            return address(name, start).map(|name| Self { name, below });
        }
        refuse_characters(name, start)?;
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let labels = if below { name.get(1..).unwrap_or_default() } else { &name };
        if labels.split('.').any(str::is_empty) {
            let help = match name.strip_prefix('.') {
                Some(rest) if !below && !rest.is_empty() => format!("write `*.{rest}`"),
                _ => "write each name between dots, like `shop.example.com`".to_owned(),
            };
            let message = "a name between the dots is empty";
            return Err(PatternError::new(0..text.len(), message, help));
        }
        Ok(Self { name: name.into(), below })
    }

    /// Whether the pattern matches a normalized host.
    pub(crate) fn matches(&self, host: &[u8]) -> bool {
        let name = self.name.as_bytes();
        if self.below { host.len() > name.len() && host.ends_with(name) } else { host == name }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.below { "*" } else { "" }, self.name)
    }
}

/// Refuses a text that contains more of a URL than its host.
fn refuse_more_than_a_host(text: &str) -> Result<(), PatternError> {
    let all = 0..text.len();
    let leave_out = |range: Range<usize>, message: &str| {
        let help = format!("leave out `{}`", text.get(range.clone()).unwrap_or_default());
        Err(PatternError::new(range, message, help))
    };
    if text.is_empty() {
        return Err(PatternError::new(
            all,
            "this host is empty",
            "write a name, like `example.com`",
        ));
    }
    if matches!(text, "*" | "**" | "*.") {
        let help = "leave the host out to mean every host";
        return Err(PatternError::new(all, format!("`{text}` alone is not a host"), help));
    }
    if let Some(at) = text.find("://") {
        return leave_out(0..at + 3, "a host has no scheme");
    }
    if let Some(at) = text.find(['/', '?', '#']) {
        return leave_out(at..all.end, "a host has no path and no query");
    }
    if let Some(at) = text.find('@') {
        return leave_out(0..at + 1, "a host has no user");
    }
    if text.parse::<core::net::Ipv6Addr>().is_ok() {
        let message = "an IPv6 address needs brackets";
        return Err(PatternError::new(all, message, format!("write `[{text}]`")));
    }
    let behind_brackets = text.rfind(']').unwrap_or(0);
    let behind = text.get(behind_brackets..).unwrap_or_default();
    match behind.find(':') {
        Some(at) => leave_out(behind_brackets + at..all.end, "rules do not distinguish ports"),
        None => Ok(()),
    }
}

fn refuse_characters(name: &str, start: usize) -> Result<(), PatternError> {
    let wrong =
        |&(_, c): &(usize, char)| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.');
    let Some((at, found)) = name.char_indices().find(wrong) else { return Ok(()) };
    let range = start + at..start + at + found.len_utf8();
    let (message, help) = match found {
        '*' => {
            let message = "a star is allowed only at the start, for the names below a domain";
            (message.to_owned(), "write `*.example.com`")
        }
        _ if found.is_whitespace() || found.is_control() => {
            ("there is a space or an invisible character in this host".to_owned(), "leave it out")
        }
        _ if !found.is_ascii() => {
            let message = format!("requests never carry `{found}` in a host");
            (message, "write the name in its `xn--` form")
        }
        _ => {
            (format!("`{found}` is not allowed in a host"), "write a name, like `shop.example.com`")
        }
    };
    Err(PatternError::new(range, message, help))
}

/// The address in brackets, normalized as in requests.
fn address(name: &str, start: usize) -> Result<Box<str>, PatternError> {
    let host = HostName::of(name);
    let spelled = host.as_ref().and_then(|host| core::str::from_utf8(host.as_bytes()).ok());
    spelled.map(Into::into).ok_or_else(|| {
        let message = "the text in these brackets is not an IPv6 address";
        PatternError::new(start..start + name.len(), message, "write it like `[2001:db8::1]`")
    })
}

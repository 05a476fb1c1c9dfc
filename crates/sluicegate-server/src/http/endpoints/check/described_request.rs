//! A request that a body describes: attributes, header lines, and peer address.

use std::borrow::Cow;
use std::net::IpAddr;

use sluicegate_http::FieldError;
use sluicegate_rules::{AttributeValue, Attributes, Headers, Request};

use crate::http::json::{ErrorCollector, Fields, JsonField, JsonValue};

/// The most attributes or header lines of a request, because rules search all of them.
const MAX_ENTRIES: usize = 256;
/// The limit from which a parsed float may have lost digits.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// The most letters of a name in an error message.
const MAX_NAME: usize = 60;

/// A request that a body describes.
#[derive(Debug)]
pub(in crate::http) struct DescribedRequest<'a> {
    attributes: BodyAttributes<'a>,
    headers: BodyHeaders<'a>,
    peer: Option<IpAddr>,
}

/// The fields of a body that describe a request.
pub(in crate::http) trait DescribedRequestFields: JsonField {
    const ATTRIBUTES: Self;
    const HEADERS: Self;
    const PEER: Self;

    /// Returns the depth of these fields: attributes have values, headers have lists of lines.
    fn depth_of(field: Self) -> u8 {
        match field {
            _ if field == Self::ATTRIBUTES => 1,
            _ if field == Self::HEADERS => 2,
            _ => 0,
        }
    }
}

/// The attributes: texts, numbers and flags.
#[derive(Debug, Default)]
struct BodyAttributes<'a>(Vec<(Cow<'a, str>, JsonValue<'a>)>);

/// The header lines, in order.
#[derive(Debug, Default)]
struct BodyHeaders<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> DescribedRequest<'a> {
    /// Reads the fields that describe a request.
    pub(in crate::http) fn read<F: DescribedRequestFields>(
        errors: &mut ErrorCollector,
        fields: &mut Fields<'a, F>,
    ) -> Self {
        let attributes = entries(errors, F::ATTRIBUTES, fields.take(F::ATTRIBUTES));
        let attributes = BodyAttributes::read(errors, F::ATTRIBUTES, attributes);
        let headers = entries(errors, F::HEADERS, fields.take(F::HEADERS));
        let headers = BodyHeaders::read(errors, F::HEADERS, headers);
        Self { attributes, headers, peer: peer(errors, F::PEER, fields.take(F::PEER)) }
    }

    /// Returns the request for the rules.
    pub(in crate::http) fn request(&self) -> Request<'_> {
        let request = Request::new().attributes(&self.attributes).headers(&self.headers);
        match self.peer {
            Some(peer) => request.peer(peer),
            None => request,
        }
    }
}

type HeaderEntries<'a> = Vec<(Cow<'a, str>, JsonValue<'a>)>;

/// Returns the entries of a field that is an object.
fn entries<'a>(
    errors: &mut ErrorCollector,
    field: impl JsonField,
    found: Option<JsonValue<'a>>,
) -> HeaderEntries<'a> {
    let name = field.as_str();
    let detail = match found {
        None => return Vec::new(),
        Some(JsonValue::Object(entries)) if entries.len() <= MAX_ENTRIES => return entries,
        Some(JsonValue::Object(entries)) => {
            format!("there are {} of them; send at most {MAX_ENTRIES}", entries.len())
        }
        Some(found) => format!("found {found}; use an object of {name} by name"),
    };
    errors.add(field, detail).unwrap_or_default()
}

/// Creates an error of one entry.
fn entry_error(field: impl JsonField, name: &str, detail: impl Into<String>) -> FieldError {
    let name: String = name.chars().take(MAX_NAME).collect();
    FieldError::new(format!("{}.{name}", field.as_str()), detail)
}

impl<'a> BodyAttributes<'a> {
    fn read(
        errors: &mut ErrorCollector,
        field: impl JsonField,
        entries: HeaderEntries<'a>,
    ) -> Self {
        for (index, (name, value)) in entries.iter().enumerate() {
            if entries[..index].iter().any(|(other, _)| other == name) {
                errors.push(entry_error(field, name, "it is given more than once; give it once"));
            }
            let detail = match value {
                JsonValue::List(_) | JsonValue::Object(_) => {
                    format!("found {value}; use a string, a number, true or false")
                }
                JsonValue::Whole(number) if i64::try_from(*number).is_err() => {
                    format!("found {value}; send it as a string, so that it keeps its digits")
                }
                JsonValue::Number(number) if number.abs() >= EXACT => {
                    format!("found {value}; send it as a string, so that it keeps its digits")
                }
                _ => continue,
            };
            errors.push(entry_error(field, name, detail));
        }
        Self(entries)
    }
}

impl<'a> BodyHeaders<'a> {
    fn read(
        errors: &mut ErrorCollector,
        field: impl JsonField,
        entries: HeaderEntries<'a>,
    ) -> Self {
        let mut lines = Vec::with_capacity(entries.len());
        for (index, (name, _)) in entries.iter().enumerate() {
            if entries[..index].iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                let detail = "it is given more than once; give a list of its lines";
                errors.push(entry_error(field, name, detail));
            }
            if !is_header(name) {
                errors.push(entry_error(field, name, "it is not the name of a header"));
            }
        }
        for (name, value) in entries {
            match value {
                JsonValue::Text(line) => lines.push((name, line)),
                JsonValue::List(items) => {
                    for item in items {
                        match item {
                            JsonValue::Text(line) => lines.push((name.clone(), line)),
                            other => {
                                let detail =
                                    format!("found {other} in the list; use a list of strings");
                                errors.push(entry_error(field, &name, detail));
                            }
                        }
                    }
                }
                other => {
                    let detail = format!("found {other}; use a string, or a list of strings");
                    errors.push(entry_error(field, &name, detail));
                }
            }
        }
        if lines.len() > MAX_ENTRIES {
            let detail = format!("there are {} lines; send at most {MAX_ENTRIES}", lines.len());
            errors.push(field.error(detail));
        }
        Self(lines)
    }
}

/// Returns whether a text is a valid name of a header or a pseudo-header such as `:authority`.
fn is_header(name: &str) -> bool {
    let name = name.strip_prefix(':').unwrap_or(name);
    let token = |letter: u8| letter.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&letter);
    !name.is_empty() && name.bytes().all(token)
}

fn peer(
    errors: &mut ErrorCollector,
    field: impl JsonField,
    found: Option<JsonValue<'_>>,
) -> Option<IpAddr> {
    const HINT: &str = "use an IP address without a port, as in \"203.0.113.9\"";
    let detail = match found? {
        JsonValue::Text(text) => {
            if let Ok(address) = text.parse() {
                return Some(address);
            }
            let text: String = text.chars().take(MAX_NAME).collect();
            format!("`{text}` is not an address; {HINT}")
        }
        found => format!("found {found}; {HINT}"),
    };
    errors.add(field, detail)
}

impl Attributes for BodyAttributes<'_> {
    fn get(&self, name: &str) -> Option<AttributeValue<'_>> {
        let (_, found) = self.0.iter().find(|(other, _)| other == name)?;
        match found {
            JsonValue::Text(text) => Some(AttributeValue::Text(text)),
            JsonValue::Whole(number) => i64::try_from(*number).ok().map(AttributeValue::Whole),
            JsonValue::Negative(number) => Some(AttributeValue::Whole(*number)),
            JsonValue::Number(number) => Some(AttributeValue::Real(*number)),
            JsonValue::Bool(flag) => Some(AttributeValue::Flag(*flag)),
            // Null is the same as no attribute.
            JsonValue::Null | JsonValue::List(_) | JsonValue::Object(_) => None,
        }
    }
}

impl Headers for BodyHeaders<'_> {
    fn each<'h>(&'h self, name: &str, visit: &mut dyn FnMut(&'h [u8])) {
        for (_, line) in self.0.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)) {
            visit(line.as_bytes());
        }
    }
}

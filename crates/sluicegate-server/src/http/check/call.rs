//! What is known of a call: attributes, header lines, and who is at the other end.

use std::borrow::Cow;
use std::net::IpAddr;

use sluicegate_rules::{Attributes, Headers, Request, Value};

use crate::http::problem::Mistake;
use crate::http::reading::{Field, Fields, Found, Reader};

/// The most attributes, and the most header lines, of one call: rules look through all of them.
const MOST: usize = 256;
/// Beyond this a number that is not whole to 64 bits has lost digits on its way here.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Letters of a name that are repeated.
const LETTERS_TOLD: usize = 60;

/// What is known of a call.
#[derive(Debug)]
pub(in crate::http) struct Call<'a> {
    attributes: Said<'a>,
    headers: Lines<'a>,
    peer: Option<IpAddr>,
}

/// Where a kind of body says it.
pub(in crate::http) trait CallFields: Field {
    const ATTRIBUTES: Self;
    const HEADERS: Self;
    const PEER: Self;

    /// How deep these fields are looked into: attributes have values, headers have lines.
    fn depth_of(field: Self) -> u8 {
        match field {
            _ if field == Self::ATTRIBUTES => 1,
            _ if field == Self::HEADERS => 2,
            _ => 0,
        }
    }
}

/// Attributes: texts, numbers and flags.
#[derive(Debug, Default)]
struct Said<'a>(Vec<(Cow<'a, str>, Found<'a>)>);

/// Header lines, in their order.
#[derive(Debug, Default)]
struct Lines<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Call<'a> {
    /// Reads the fields that say what is known of a call.
    pub(in crate::http) fn read<F: CallFields>(
        reader: &mut Reader,
        fields: &mut Fields<'a, F>,
    ) -> Self {
        let attributes = entries(reader, F::ATTRIBUTES, fields.take(F::ATTRIBUTES));
        let attributes = Said::read(reader, F::ATTRIBUTES, attributes);
        let headers = entries(reader, F::HEADERS, fields.take(F::HEADERS));
        let headers = Lines::read(reader, F::HEADERS, headers);
        Self { attributes, headers, peer: peer(reader, F::PEER, fields.take(F::PEER)) }
    }

    /// The request that it is about.
    pub(in crate::http) fn request(&self) -> Request<'_> {
        let request = Request::new().attributes(&self.attributes).headers(&self.headers);
        match self.peer {
            Some(peer) => request.peer(peer),
            None => request,
        }
    }
}

type Entries<'a> = Vec<(Cow<'a, str>, Found<'a>)>;

/// The entries of an object that is a field.
fn entries<'a>(reader: &mut Reader, field: impl Field, found: Option<Found<'a>>) -> Entries<'a> {
    let name = field.as_str();
    let detail = match found {
        None => return Vec::new(),
        Some(Found::Object(entries)) if entries.len() <= MOST => return entries,
        Some(Found::Object(entries)) => {
            format!("there are {} of them; send at most {MOST}", entries.len())
        }
        Some(found) => format!("found {found}; use an object of {name} by name"),
    };
    reader.refuse(field, detail).unwrap_or_default()
}

/// What is wrong with one entry.
fn mistake(field: impl Field, name: &str, detail: impl Into<String>) -> Mistake {
    let name: String = name.chars().take(LETTERS_TOLD).collect();
    Mistake::new(format!("{}.{name}", field.as_str()), detail)
}

impl<'a> Said<'a> {
    fn read(reader: &mut Reader, field: impl Field, entries: Entries<'a>) -> Self {
        for (place, (name, value)) in entries.iter().enumerate() {
            let before = entries.get(..place).unwrap_or_default();
            if before.iter().any(|(other, _)| other == name) {
                reader.add(mistake(field, name, "it is given more than once; give it once"));
            }
            let detail = match value {
                Found::List(_) | Found::Object(_) => {
                    format!("found {value}; use a string, a number, true or false")
                }
                Found::Whole(number) if i64::try_from(*number).is_err() => {
                    format!("found {value}; send it as a string, so that it keeps its digits")
                }
                Found::Number(number) if number.abs() >= EXACT => {
                    format!("found {value}; send it as a string, so that it keeps its digits")
                }
                _ => continue,
            };
            reader.add(mistake(field, name, detail));
        }
        Self(entries)
    }
}

impl<'a> Lines<'a> {
    fn read(reader: &mut Reader, field: impl Field, entries: Entries<'a>) -> Self {
        let mut lines = Vec::with_capacity(entries.len());
        for (place, (name, _)) in entries.iter().enumerate() {
            let before = entries.get(..place).unwrap_or_default();
            if before.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                let detail = "it is given more than once; give a list of its lines";
                reader.add(mistake(field, name, detail));
            }
            if !is_header(name) {
                reader.add(mistake(field, name, "it is not the name of a header"));
            }
        }
        for (name, value) in entries {
            match value {
                Found::Text(line) => lines.push((name, line)),
                Found::List(items) => {
                    for item in items {
                        match item {
                            Found::Text(line) => lines.push((name.clone(), line)),
                            other => {
                                let detail =
                                    format!("found {other} in the list; use a list of strings");
                                reader.add(mistake(field, &name, detail));
                            }
                        }
                    }
                }
                other => {
                    let detail = format!("found {other}; use a string, or a list of strings");
                    reader.add(mistake(field, &name, detail));
                }
            }
        }
        if lines.len() > MOST {
            let detail = format!("there are {} lines; send at most {MOST}", lines.len());
            reader.add(field.mistake(detail));
        }
        Self(lines)
    }
}

/// Whether a text may be the name of a header, or of a pseudo-header such as `:authority`.
fn is_header(name: &str) -> bool {
    let name = name.strip_prefix(':').unwrap_or(name);
    let token = |letter: u8| letter.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&letter);
    !name.is_empty() && name.bytes().all(token)
}

fn peer(reader: &mut Reader, field: impl Field, found: Option<Found<'_>>) -> Option<IpAddr> {
    const RIGHT: &str = "use an IP address without a port, as in \"203.0.113.9\"";
    let detail = match found? {
        Found::Text(text) => {
            if let Ok(address) = text.parse() {
                return Some(address);
            }
            let text: String = text.chars().take(LETTERS_TOLD).collect();
            format!("`{text}` is not an address; {RIGHT}")
        }
        found => format!("found {found}; {RIGHT}"),
    };
    reader.refuse(field, detail)
}

impl Attributes for Said<'_> {
    fn get(&self, name: &str) -> Option<Value<'_>> {
        let (_, found) = self.0.iter().find(|(other, _)| other == name)?;
        match found {
            Found::Text(text) => Some(Value::Text(text)),
            Found::Whole(number) => i64::try_from(*number).ok().map(Value::Whole),
            Found::Negative(number) => Some(Value::Whole(*number)),
            Found::Number(number) => Some(Value::Real(*number)),
            Found::Bool(flag) => Some(Value::Flag(*flag)),
            // Nothing is the same as no attribute.
            Found::Null | Found::List(_) | Found::Object(_) => None,
        }
    }
}

impl Headers for Lines<'_> {
    fn each<'h>(&'h self, name: &str, visit: &mut dyn FnMut(&'h [u8])) {
        for (_, line) in self.0.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)) {
            visit(line.as_bytes());
        }
    }
}

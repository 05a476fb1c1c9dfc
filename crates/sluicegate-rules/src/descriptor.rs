//! Descriptors: lists of entries that an application describes a request with.

use crate::request::Value;

/// The entry that says what becomes of the hits; it is not an attribute.
pub const PURPOSE_ENTRY: &str = "sluicegate";

/// The attribute that a descriptor of a domain has under this name.
///
/// `entries` are its entries without the [`PURPOSE_ENTRY`]; the first of a name counts.
pub fn attribute<'d>(
    name: &str,
    domain: &'d str,
    entries: &(impl Iterator<Item = (&'d str, &'d str)> + Clone),
) -> Option<Value<'d>> {
    let value = |wanted: &str| {
        let found = entries.clone().find(|(key, _)| *key == wanted);
        found.map(|(_, value)| Value::Text(value))
    };
    match name {
        // Never an entry of that name, because domains keep applications apart.
        "domain" => Some(Value::Text(domain)),
        // Envoy's name for the address of its client.
        "ip" => value("ip").or_else(|| value("remote_address")),
        name => value(name),
    }
}

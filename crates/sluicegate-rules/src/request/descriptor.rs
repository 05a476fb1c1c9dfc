//! Attributes of Envoy-style descriptors: lists of entries that describe a request.

use crate::request::AttributeValue;

/// The entry that selects the purpose of the hits; it is not an attribute.
pub const PURPOSE_ENTRY: &str = "sluicegate";

/// The attribute of this name in a descriptor of a domain.
///
/// `entries` are its entries without the [`PURPOSE_ENTRY`]; the first of a name counts.
pub fn attribute<'d>(
    name: &str,
    domain: &'d str,
    entries: &(impl Iterator<Item = (&'d str, &'d str)> + Clone),
) -> Option<AttributeValue<'d>> {
    let value = |wanted: &str| {
        let found = entries.clone().find(|(key, _)| *key == wanted);
        found.map(|(_, value)| AttributeValue::Text(value))
    };
    match name {
        // Never an entry of that name, because domains separate applications from each other.
        "domain" => Some(AttributeValue::Text(domain)),
        // Envoy's name for the address of its client.
        "ip" => value("ip").or_else(|| value("remote_address")),
        name => value(name),
    }
}

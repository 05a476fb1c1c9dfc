//! A descriptor as a request: its entries are attributes, and so is the domain.

use tollgate_rules::{Attributes, Purpose, Request, Value};
use tonic::Status;

use super::limits::{MOST_DESCRIPTORS, MOST_ENTRIES};
use super::proto::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use super::proto::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use super::proto::envoy::service::ratelimit::v3::RateLimitRequest;

/// The entry that says what becomes of the hits, and is no attribute.
const WHAT_FOR: &str = "tollgate";
/// Its value: they are charged, whatever is left; what they are for has happened already.
const CHARGE: &str = "charge";

/// A descriptor of a call.
#[derive(Debug)]
pub(super) struct Descriptor<'m> {
    domain: &'m str,
    pub(super) message: &'m RateLimitDescriptor,
    /// What it costs; 0 only looks.
    pub(super) hits: u64,
    pub(super) purpose: Purpose,
}

/// The descriptors of a call, or what is wrong with them.
pub(super) fn all(call: &RateLimitRequest) -> Result<Vec<Descriptor<'_>>, Status> {
    if call.domain.is_empty() {
        return Err(Status::invalid_argument(
            "the call has no domain; name one, as in `domain: edge`",
        ));
    }
    if call.descriptors.is_empty() {
        return Err(Status::invalid_argument("the call has no descriptors; send at least one"));
    }
    if call.descriptors.len() > MOST_DESCRIPTORS {
        return Err(Status::resource_exhausted(format!(
            "the call has {} descriptors; send at most {MOST_DESCRIPTORS}",
            call.descriptors.len()
        )));
    }
    let descriptors = call.descriptors.iter().enumerate();
    descriptors.map(|(index, message)| Descriptor::of(call, message, index)).collect()
}

impl<'m> Descriptor<'m> {
    fn of(
        call: &'m RateLimitRequest,
        message: &'m RateLimitDescriptor,
        index: usize,
    ) -> Result<Self, Status> {
        let wrong = |what: &str| {
            Status::invalid_argument(format!("descriptor {} of the call {what}", index + 1))
        };
        if message.entries.is_empty() {
            return Err(wrong("has no entries; send at least one"));
        }
        if message.entries.len() > MOST_ENTRIES {
            return Err(wrong(&format!(
                "has {} entries; send at most {MOST_ENTRIES}",
                message.entries.len()
            )));
        }
        let mut purpose = Purpose::Take;
        for entry in &message.entries {
            match (entry.key.as_str(), entry.value.as_str()) {
                ("", _) => return Err(wrong("has an entry without a key; give it one")),
                (WHAT_FOR, CHARGE) => purpose = Purpose::Charge,
                (WHAT_FOR, _) => {
                    return Err(wrong(
                        "has an entry `tollgate` that is not `charge`, the one thing it can say",
                    ));
                }
                _ => {}
            }
        }
        if message.is_negative_hits {
            if purpose != Purpose::Take {
                return Err(wrong("both charges and gives back; let it do one of them"));
            }
            purpose = Purpose::Refund;
        }
        let hits = message.hits_addend.unwrap_or_else(|| u64::from(call.hits_addend.max(1)));
        Ok(Self { domain: &call.domain, message, hits, purpose })
    }

    /// What the rules are asked about.
    pub(super) fn request(&self) -> Request<'_> {
        let entries = self.entries().count();
        Request::new().attributes(self).entries(entries).cost(self.hits)
    }

    /// What came from whoever sends the call.
    pub(super) fn entries(&self) -> impl Iterator<Item = &'m Entry> {
        self.message.entries.iter().filter(|entry| entry.key != WHAT_FOR)
    }

    pub(super) fn domain(&self) -> &'m str {
        self.domain
    }
}

impl Attributes for Descriptor<'_> {
    fn get(&self, name: &str) -> Option<Value<'_>> {
        let value = |key: &str| {
            let found = self.entries().find(|entry| entry.key == key);
            found.map(|entry| Value::Text(&entry.value))
        };
        match name {
            // An entry of that name is not heard: domains keep applications apart.
            "domain" => Some(Value::Text(self.domain)),
            // What Envoy calls the address of its client.
            "ip" => value("ip").or_else(|| value("remote_address")),
            name => value(name),
        }
    }
}

//! Descriptors as requests: the entries and the domain become attributes.

use sluicegate_rules::descriptor::{self, PURPOSE_ENTRY};
use sluicegate_rules::{AttributeValue, Attributes, Purpose, Request};
use tonic::Status;

use super::proto::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use super::proto::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use super::proto::envoy::service::ratelimit::v3::RateLimitRequest;
use super::size_limits::{MAX_DESCRIPTORS, MAX_ENTRIES};

/// The value of [`PURPOSE_ENTRY`] that charges the hits unconditionally, for past requests.
const CHARGE: &str = "charge";

/// A descriptor of a call.
#[derive(Debug)]
pub(super) struct Descriptor<'m> {
    domain: &'m str,
    pub(super) message: &'m RateLimitDescriptor,
    /// Its cost; 0 only queries the limits.
    pub(super) hits: u64,
    pub(super) purpose: Purpose,
}

/// Reads the descriptors of a call, or returns the first error.
pub(super) fn all(call: &RateLimitRequest) -> Result<Vec<Descriptor<'_>>, Status> {
    if call.domain.is_empty() {
        return Err(Status::invalid_argument(
            "the call has no domain; name one, as in `domain: edge`",
        ));
    }
    if call.descriptors.is_empty() {
        return Err(Status::invalid_argument("the call has no descriptors; send at least one"));
    }
    if call.descriptors.len() > MAX_DESCRIPTORS {
        return Err(Status::resource_exhausted(format!(
            "the call has {} descriptors; send at most {MAX_DESCRIPTORS}",
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
        let invalid = |error: &str| {
            Status::invalid_argument(format!("descriptor {} of the call {error}", index + 1))
        };
        if message.entries.is_empty() {
            return Err(invalid("has no entries; send at least one"));
        }
        if message.entries.len() > MAX_ENTRIES {
            return Err(invalid(&format!(
                "has {} entries; send at most {MAX_ENTRIES}",
                message.entries.len()
            )));
        }
        let mut purpose = Purpose::Take;
        for entry in &message.entries {
            match (entry.key.as_str(), entry.value.as_str()) {
                ("", _) => return Err(invalid("has an entry without a key; give it one")),
                (PURPOSE_ENTRY, CHARGE) => purpose = Purpose::Charge,
                (PURPOSE_ENTRY, _) => {
                    return Err(invalid(
                        "has an entry `sluicegate` with an unknown value; the only value is \
                         `charge`",
                    ));
                }
                _ => {}
            }
        }
        if message.is_negative_hits {
            if purpose != Purpose::Take {
                return Err(invalid("both charges and refunds; send only one of them"));
            }
            purpose = Purpose::Refund;
        }
        let hits = message.hits_addend.unwrap_or_else(|| u64::from(call.hits_addend.max(1)));
        Ok(Self { domain: &call.domain, message, hits, purpose })
    }

    /// Returns the request that the rules evaluate.
    pub(super) fn request(&self) -> Request<'_> {
        let entries = self.entries().count();
        Request::new().attributes(self).entries(entries).cost(self.hits)
    }

    /// Returns the entries that the client configured.
    pub(super) fn entries(&self) -> impl Iterator<Item = &'m Entry> + Clone {
        self.message.entries.iter().filter(|entry| entry.key != PURPOSE_ENTRY)
    }

    pub(super) fn domain(&self) -> &'m str {
        self.domain
    }
}

impl Attributes for Descriptor<'_> {
    fn get(&self, name: &str) -> Option<AttributeValue<'_>> {
        let entries = self.entries().map(|entry| (entry.key.as_str(), entry.value.as_str()));
        descriptor::attribute(name, self.domain, &entries)
    }
}

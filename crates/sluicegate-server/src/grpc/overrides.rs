//! Limit overrides: limits that descriptors bring instead of those of rules.

use sluicegate::{Algorithm, Check, Cost, Key, Limit, Operation};
use sluicegate_rules::Purpose;
use tonic::Status;

use super::descriptor::Descriptor;
use super::proto::envoy::r#type::v3::RateLimitUnit;
use super::time_unit;

/// The name of such a limit in responses.
pub(super) const NAME: &str = "descriptor";

/// The limit that a descriptor brings, and the key of its counter.
#[derive(Debug)]
pub(super) struct DescriptorOverride {
    limit: Limit,
    key: Vec<u8>,
    pub(super) algorithm: Algorithm,
    /// The amount as it was sent.
    pub(super) amount: u32,
    pub(super) unit: RateLimitUnit,
}

impl DescriptorOverride {
    /// Returns the limit of a descriptor, if it brings one.
    pub(super) fn of(descriptor: &Descriptor<'_>) -> Option<Result<Self, Status>> {
        let sent = descriptor.message.limit?;
        Some(Self::read(descriptor, sent.requests_per_unit, sent.unit))
    }

    fn read(descriptor: &Descriptor<'_>, amount: u32, sent: i32) -> Result<Self, Status> {
        let unit = RateLimitUnit::try_from(sent).unwrap_or(RateLimitUnit::Unknown);
        // A limit of zero is built as a limit of one with a cost of two, which always exceeds it.
        let quota = time_unit::quota(amount.max(1), unit).ok_or_else(|| {
            Status::invalid_argument(format!(
                "the limit override of a descriptor has the unknown unit {sent}; use one from \
                 SECOND to YEAR"
            ))
        })?;
        // Months differ in length, so that they need a calendar window.
        let algorithm = match unit {
            RateLimitUnit::Month | RateLimitUnit::Year => Algorithm::FixedWindow,
            _ => Algorithm::TokenBucket,
        };
        let invalid = |error: String| {
            Status::invalid_argument(format!(
                "the limit override of a descriptor is invalid: {error}"
            ))
        };
        let quota = quota.map_err(|error| invalid(error.to_string()))?;
        let limit = Limit::new(NAME, algorithm.by(quota));
        let limit = limit.map_err(|error| invalid(error.reason().to_string()))?;
        let mut key = Vec::with_capacity(64);
        // One descriptor has a separate counter for each algorithm.
        Key::append(&mut key, algorithm.as_str().as_bytes());
        Key::append(&mut key, descriptor.domain().as_bytes());
        for entry in descriptor.entries() {
            Key::append(&mut key, entry.key.as_bytes());
            Key::append(&mut key, entry.value.as_bytes());
        }
        Ok(Self { limit, key, algorithm, amount, unit })
    }

    /// Returns the check of this limit.
    pub(super) fn check(&self, descriptor: &Descriptor<'_>) -> Check<'_> {
        let check = Check::new(&self.limit, &self.key);
        if self.amount == 0 {
            return check.cost(Cost::from(2));
        }
        let cost = Cost::new(descriptor.hits).unwrap_or(Cost::MAX);
        match descriptor.purpose {
            Purpose::Charge => check.with_operation(Operation::Charge(cost)),
            Purpose::Refund => check.with_operation(Operation::Refund(cost)),
            _ => check.cost(cost),
        }
    }
}

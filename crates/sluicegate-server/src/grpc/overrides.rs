//! Limits that come with descriptors, in place of those of rules.

use sluicegate::{Ask, Check, Cost, Key, Limit};
use sluicegate_rules::{Algorithm, Purpose};
use tonic::Status;

use super::descriptor::Descriptor;
use super::proto::envoy::r#type::v3::RateLimitUnit;
use super::unit;

/// What callers are told that such a limit is called.
pub(super) const NAME: &str = "descriptor";

/// A limit that came with a descriptor, and whose counter it is about.
#[derive(Debug)]
pub(super) struct Override {
    limit: Limit,
    key: Vec<u8>,
    pub(super) algorithm: Algorithm,
    /// As it was sent.
    pub(super) amount: u32,
    pub(super) unit: RateLimitUnit,
}

impl Override {
    /// The limit of a descriptor, if it brings one.
    pub(super) fn of(descriptor: &Descriptor<'_>) -> Option<Result<Self, Status>> {
        let sent = descriptor.message.limit?;
        Some(Self::read(descriptor, sent.requests_per_unit, sent.unit))
    }

    fn read(descriptor: &Descriptor<'_>, amount: u32, sent: i32) -> Result<Self, Status> {
        let unit = RateLimitUnit::try_from(sent).unwrap_or(RateLimitUnit::Unknown);
        // What admits nothing still is a limit: of one, which every call exceeds.
        let quota = unit::quota(amount.max(1), unit).ok_or_else(|| {
            Status::invalid_argument(format!(
                "a limit that came with a descriptor has the unit {sent}, which is none; use one from SECOND to YEAR"
            ))
        })?;
        // Months are of different lengths: they are counted by the calendar.
        let algorithm = match unit {
            RateLimitUnit::Month | RateLimitUnit::Year => Algorithm::FixedWindow,
            _ => Algorithm::TokenBucket,
        };
        let wrong = |error: String| {
            Status::invalid_argument(format!(
                "a limit that came with a descriptor cannot be: {error}"
            ))
        };
        let quota = quota.map_err(|error| wrong(error.to_string()))?;
        let limit = match algorithm {
            Algorithm::FixedWindow => Limit::fixed_window(NAME, quota),
            _ => Limit::token_bucket(NAME, quota),
        };
        let limit = limit.map_err(|error| wrong(error.reason().to_string()))?;
        let mut key = Vec::with_capacity(64);
        // Counters of one descriptor under two algorithms are two.
        Key::append(&mut key, algorithm.as_str().as_bytes());
        Key::append(&mut key, descriptor.domain().as_bytes());
        for entry in descriptor.entries() {
            Key::append(&mut key, entry.key.as_bytes());
            Key::append(&mut key, entry.value.as_bytes());
        }
        Ok(Self { limit, key, algorithm, amount, unit })
    }

    /// What is asked of it.
    pub(super) fn check(&self, descriptor: &Descriptor<'_>) -> Check<'_> {
        let check = Check::new(&self.limit, &self.key);
        if self.amount == 0 {
            return check.cost(Cost::from(2));
        }
        let cost = Cost::new(descriptor.hits).unwrap_or(Cost::MAX);
        match descriptor.purpose {
            Purpose::Charge => check.ask(Ask::Charge(cost)),
            Purpose::Refund => check.ask(Ask::Refund(cost)),
            _ => check.cost(cost),
        }
    }
}

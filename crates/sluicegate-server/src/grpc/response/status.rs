//! The status of one descriptor in a response.

use serde::Serialize;
use sluicegate_http::{LimitOutcome, RateLimitInfo};
use sluicegate_rules::{Evaluation, Purpose};

use super::code;
use crate::grpc::descriptor::Descriptor;
use crate::grpc::overrides::{DescriptorOverride, NAME};
use crate::grpc::proto::envoy::service::ratelimit::v3::rate_limit_response::rate_limit::Unit;
use crate::grpc::protobuf_writer::ProtobufWriter;
use crate::grpc::time_unit;

/// The field numbers of a status.
mod field {
    pub(super) const CODE: u32 = 1;
    pub(super) const CURRENT_LIMIT: u32 = 2;
    pub(super) const LIMIT_REMAINING: u32 = 3;
    pub(super) const DURATION_UNTIL_RESET: u32 = 4;
}

/// One descriptor and its evaluation.
pub(super) struct LimitStatus<'a, 'm> {
    pub(super) evaluation: &'a Evaluation<'a>,
    pub(super) descriptor: &'a Descriptor<'m>,
    pub(super) own: Option<&'a DescriptorOverride>,
}

impl<'a> LimitStatus<'a, '_> {
    /// Returns whether it is over a limit: refused, or queried at zero cost with nothing left.
    pub(super) fn is_over(&self) -> bool {
        let is_query = self.descriptor.hits == 0 && self.descriptor.purpose == Purpose::Take;
        let empty = || self.strictest().is_some_and(|one| one.decision.remaining() == 0);
        !self.evaluation.is_allowed() || (is_query && empty())
    }

    pub(super) fn write(&self, status: &mut ProtobufWriter) {
        status.number(field::CODE, code(self.is_over()));
        let Some(strictest) = self.strictest() else {
            if self.evaluation.planned.is_unlimited() {
                status.number(field::LIMIT_REMAINING, u64::from(u32::MAX));
            }
            return;
        };
        let (amount, unit) = self.quota(&strictest);
        status.message(field::CURRENT_LIMIT, |limit| {
            limit.number(1, amount.min(u64::from(u32::MAX)));
            limit.number(2, unit as u64);
            match strictest.rule {
                Some(rule) => limit.bytes(3, rule.policy_name(strictest.check.limit()).as_bytes()),
                None => limit.bytes(3, NAME.as_bytes()),
            }
        });
        let decision = strictest.decision;
        status.number(field::LIMIT_REMAINING, decision.remaining().min(u64::from(u32::MAX)));
        status.message(field::DURATION_UNTIL_RESET, |duration| {
            duration.number(1, decision.reset_after().as_secs_ceil());
        });
    }

    /// Returns the strictest limit, if its state is known.
    fn strictest(&self) -> Option<LimitOutcome<'a>> {
        RateLimitInfo::of(self.evaluation).strictest().filter(|limit| limit.is_known)
    }

    /// Returns the amount per unit as configured, or the capacity if that is unknown.
    fn quota(&self, strictest: &LimitOutcome<'_>) -> (u64, Unit) {
        if let Some(own) = self.own {
            return (u64::from(own.amount), time_unit::response_unit(own.unit));
        }
        match strictest.check.limit().quota() {
            Some(quota) => (quota.amount(), time_unit::of(quota.per())),
            None => (strictest.decision.limit(), Unit::Unknown),
        }
    }
}

/// The body of a query at zero cost that found nothing left.
#[derive(Serialize)]
pub(super) struct ExhaustedProblem {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    detail: &'static str,
}

impl ExhaustedProblem {
    pub(super) const QUOTA: Self = Self {
        kind: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        title: "Quota exceeded",
        status: super::STATUS,
        detail: "nothing is left of the limit; come back later",
    };
}

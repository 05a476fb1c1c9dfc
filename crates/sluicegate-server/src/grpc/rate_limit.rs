//! `ShouldRateLimit`: decides all descriptors of a call in one step.

use hyper::body::{Bytes, Incoming};
use sluicegate::{CheckError, Clock, Span};
use sluicegate_rules::{GroupEvaluation, GroupItem};
use tonic::{Code, Status};
use tracing::debug;

use super::descriptor::{self, Descriptor};
use super::framing;
use super::overrides::DescriptorOverride;
use super::proto::envoy::service::ratelimit::v3::RateLimitRequest;
use super::response::{self, RateLimitCall};
use crate::context::Context;
use crate::store_stats::StoreStats;

/// Evaluates the descriptors of a call, and writes the response.
pub(super) async fn answer<S: StoreStats>(
    context: &Context<S>,
    body: Incoming,
    within: Option<Span>,
) -> Result<Bytes, Status> {
    let call: RateLimitRequest = match framing::read(body).await {
        Ok(call) => call,
        // A client can cause this with a header that Envoy copies into a descriptor.
        Err(status) if matches!(status.code(), Code::InvalidArgument | Code::ResourceExhausted) => {
            return Ok(refuse_invalid(status.message()));
        }
        Err(status) => return Err(status),
    };
    let descriptors = descriptor::all(&call)?;
    let own = |descriptor| DescriptorOverride::of(descriptor).transpose();
    let has_override = call.descriptors.iter().any(|descriptor| descriptor.limit.is_some());
    let overrides: Vec<Option<DescriptorOverride>> = if has_override {
        descriptors.iter().map(own).collect::<Result<_, _>>()?
    } else {
        Vec::new()
    };
    let own = |index: usize| overrides.get(index).and_then(Option::as_ref);
    let parts: Vec<GroupItem<'_>> =
        descriptors.iter().enumerate().map(|(index, one)| part(one, own(index))).collect();
    let response = context.gate.check_group(&parts, within, |group| {
        count(context, group, &own);
        let call = RateLimitCall { descriptors: &descriptors, own: &own };
        let now = || context.gate.limiter().store().clock().now();
        framing::seal(response::write(&call, group, now))
    });
    match response.await {
        Ok(answer) => Ok(answer),
        // A client can cause this, too: the key of an override consists of the entries.
        Err(error @ CheckError::KeyTooLong { .. }) => Ok(refuse_invalid(&error.to_string())),
        Err(error) => Err(undecided(&error)),
    }
}

/// Refuses an invalid call that a client may have caused.
///
/// If the call failed instead, Envoy would let the request through with `failure_mode_deny: false`.
fn refuse_invalid(why: &str) -> Bytes {
    debug!(why, "refused an invalid call");
    framing::seal(response::invalid_call(why))
}

fn part<'a>(descriptor: &'a Descriptor<'_>, own: Option<&'a DescriptorOverride>) -> GroupItem<'a> {
    match own {
        Some(own) => GroupItem::Own(own.check(descriptor)),
        None => GroupItem::Rules(descriptor.request().purpose(descriptor.purpose)),
    }
}

fn count<'o, S: StoreStats>(
    context: &Context<S>,
    group: &GroupEvaluation<'_>,
    own: &impl Fn(usize) -> Option<&'o DescriptorOverride>,
) {
    for (index, part) in group.parts.iter().enumerate() {
        match (own(index), part.verdict) {
            (Some(own), Some(verdict)) => context.metrics.throttled(own.algorithm, verdict),
            (Some(_), None) => {}
            (None, _) => context.metrics.evaluated(part),
        }
    }
    if !group.whole.is_allowed() {
        debug!("refused");
    }
}

/// Returns the status of a call that could not be decided; the caller applies its own policy.
fn undecided(error: &CheckError) -> Status {
    match error {
        CheckError::TooManyChecks { .. } => Status::resource_exhausted(error.to_string()),
        CheckError::ContradictoryLimits => Status::invalid_argument(error.to_string()),
        _ => Status::unavailable(error.to_string()),
    }
}

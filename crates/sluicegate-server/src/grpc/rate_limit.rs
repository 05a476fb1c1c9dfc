//! `ShouldRateLimit`: all descriptors of a call are decided in one step.

use hyper::body::{Bytes, Incoming};
use sluicegate::{CheckError, Clock, Span};
use sluicegate_rules::{Part, Together};
use tonic::{Code, Status};
use tracing::debug;

use super::descriptor::{self, Descriptor};
use super::framing;
use super::overrides::Override;
use super::proto::envoy::service::ratelimit::v3::RateLimitRequest;
use super::response::{self, Asked};
use crate::context::Context;
use crate::measured::Measured;

/// Call, plan, store, verdict, answer.
pub(super) async fn answer<S: Measured>(
    context: &Context<S>,
    body: Incoming,
    within: Option<Span>,
) -> Result<Bytes, Status> {
    let call: RateLimitRequest = match framing::read(body).await {
        Ok(call) => call,
        // A header that Envoy copies into a descriptor can make a message unreadable or too long.
        Err(status) if matches!(status.code(), Code::InvalidArgument | Code::ResourceExhausted) => {
            return Ok(refused(status.message()));
        }
        Err(status) => return Err(status),
    };
    let descriptors = descriptor::all(&call)?;
    let own = |descriptor| Override::of(descriptor).transpose();
    let brought = call.descriptors.iter().any(|descriptor| descriptor.limit.is_some());
    let overrides: Vec<Option<Override>> =
        if brought { descriptors.iter().map(own).collect::<Result<_, _>>()? } else { Vec::new() };
    let own = |index: usize| overrides.get(index).and_then(Option::as_ref);
    let parts: Vec<Part<'_>> =
        descriptors.iter().enumerate().map(|(index, one)| part(one, own(index))).collect();
    let answered = context.gate.decide_together(&parts, within, |together| {
        count(context, together, &own);
        let asked = Asked { descriptors: &descriptors, own: &own };
        let now = || context.gate.limiter().store().clock().now();
        framing::sealed(response::write(&asked, together, now))
    });
    match answered.await {
        Ok(answer) => Ok(answer),
        // Entries that a client makes longer than a key may be, with a limit from the descriptor.
        Err(error @ CheckError::KeyTooLong { .. }) => Ok(refused(&error.to_string())),
        Err(error) => Err(undecided(&error)),
    }
}

/// Refuses a call that a client may have brought about: a failed one would be let through with
/// `failure_mode_deny: false`.
fn refused(why: &str) -> Bytes {
    debug!(why, "refused a call that cannot be read");
    framing::sealed(response::unreadable(why))
}

fn part<'a>(descriptor: &'a Descriptor<'_>, own: Option<&'a Override>) -> Part<'a> {
    match own {
        Some(own) => Part::Own(own.check(descriptor)),
        None => Part::Rules(descriptor.request(), descriptor.purpose),
    }
}

fn count<'o, S: Measured>(
    context: &Context<S>,
    together: &Together<'_>,
    own: &impl Fn(usize) -> Option<&'o Override>,
) {
    for (index, part) in together.parts.iter().enumerate() {
        match (own(index), part.verdict) {
            (Some(own), Some(verdict)) => context.metrics.throttled(own.algorithm, verdict),
            (Some(_), None) => {}
            (None, _) => context.metrics.answered_by_rules(part),
        }
    }
    if !together.whole.is_allowed() {
        debug!("refused");
    }
}

/// Why a call could not be decided: whoever asks goes by its own policy then.
fn undecided(error: &CheckError) -> Status {
    match error {
        CheckError::TooManyChecks { .. } => Status::resource_exhausted(error.to_string()),
        CheckError::ContradictoryLimits => Status::invalid_argument(error.to_string()),
        _ => Status::unavailable(error.to_string()),
    }
}

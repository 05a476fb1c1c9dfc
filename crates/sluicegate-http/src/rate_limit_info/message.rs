//! The sentence that explains a refusal: the limit, and when to retry.

use std::borrow::Cow;

use sluicegate::{Refusal, Span};
use sluicegate_rules::PlanOutcome;

use super::{LimitOutcome, RateLimitInfo, RefusalKind};
use crate::problem::Audience;

const UNREACHABLE: &str =
    "the shared store is unavailable and this rule fails closed; try again later";
const LISTED: &str = "the caller is on the block-list";

impl<'a> RateLimitInfo<'a> {
    /// Returns the reason for the refusal, as a sentence.
    pub(crate) fn detail(&self, kind: RefusalKind, audience: Audience) -> Cow<'a, str> {
        match (kind, self.outcome) {
            (RefusalKind::Capacity, _) => return Cow::Borrowed(UNREACHABLE),
            (RefusalKind::Listed, _) => return Cow::Borrowed(LISTED),
            (_, PlanOutcome::Unidentified { identity, rule }) => {
                return Cow::Owned(if audience.sees(self.rule_named(rule)) {
                    format!(
                        "the rule `{rule}` needs the identity `{identity}`, and the request does not have it"
                    )
                } else {
                    format!("the request does not have the identity `{identity}`")
                });
            }
            _ => {}
        }
        let Some(item) = self.strictest() else {
            return Cow::Borrowed("the request is refused");
        };
        match item.rule.and_then(sluicegate_rules::Rule::message) {
            Some(message) => Cow::Borrowed(message),
            None if audience.sees(item.rule) => Cow::Owned(self.sentence(&item)),
            None => Cow::Owned(match self.retry_after() {
                Some(wait) => format!("the request is refused; come back in {}", format_wait(wait)),
                None => "the request is refused".to_owned(),
            }),
        }
    }

    fn sentence(&self, item: &LimitOutcome<'a>) -> String {
        let policy = self.policy_name(item);
        let (limit, most) = (item.check.limit(), item.decision.limit());
        match item.decision.refusal() {
            Some(Refusal::Exhausted { retry_after }) => {
                let within = match limit.recovery() {
                    Some(span) => format!("{most} in {span}"),
                    None => format!("{most}"),
                };
                let wait = format_wait(retry_after);
                format!("the limit `{policy}` ({within}) is used up; come back in {wait}")
            }
            Some(Refusal::Blocked { retry_after }) => {
                let wait = format_wait(retry_after);
                format!("`{policy}` blocks after too many failures; come back in {wait}")
            }
            Some(Refusal::Busy) => format!(
                "all {most} slots of `{policy}` are in use; come back when one of the requests in flight has ended"
            ),
            Some(Refusal::CostAboveLimit) => format!(
                "the request costs {}, and the limit `{policy}` never has more than {most}; ask for less",
                self.cost
            ),
            _ => format!("the limit `{policy}` refuses"),
        }
    }
}

/// Formats a waiting time in its largest fitting unit, rounded up.
fn format_wait(span: Span) -> String {
    let seconds = span.as_secs_ceil().max(1);
    let (count, unit) = match seconds {
        ..=119 => (seconds, "second"),
        120..=7_199 => (seconds.div_ceil(60), "minute"),
        7_200..=172_799 => (seconds.div_ceil(3_600), "hour"),
        _ => (seconds.div_ceil(86_400), "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

//! A refusal in a sentence: which limit, and when to come back.

use std::borrow::Cow;

use sluicegate::{Refusal, Span};
use sluicegate_rules::Outcome;

use super::met::Item;
use super::{Kind, Told};

const UNREACHABLE: &str = "the store that counts for all nodes cannot be asked, and the rule refuses then; try again later";
const LISTED: &str = "the caller is on the block-list";

impl<'a> Told<'a> {
    /// Why a request is refused, for people.
    pub(super) fn detail(&self, kind: Kind) -> Cow<'a, str> {
        match (kind, self.outcome) {
            (Kind::Capacity, _) => return Cow::Borrowed(UNREACHABLE),
            (Kind::Listed, _) => return Cow::Borrowed(LISTED),
            (_, Outcome::Unidentified { identity, rule }) => {
                return Cow::Owned(format!(
                    "the rule `{rule}` has to know the `{identity}` of whoever is asking, and the request does not say it"
                ));
            }
            _ => {}
        }
        let strictest = self.asked.and_then(|(_, verdict)| verdict.strictest());
        let place = strictest.and_then(|strictest| u8::try_from(strictest.check).ok());
        let Some(item) = place.and_then(|place| self.item(place)) else {
            return Cow::Borrowed("the request is refused");
        };
        match self.rule(item.place).and_then(sluicegate_rules::Rule::message) {
            Some(message) => Cow::Borrowed(message),
            None => Cow::Owned(self.sentence(&item)),
        }
    }

    fn sentence(&self, item: &Item<'_>) -> String {
        let policy = self.policy(item.place, item.check);
        let (limit, most) = (item.check.limit(), item.decision.limit());
        match item.decision.refusal() {
            Some(Refusal::Exhausted { retry_after }) => {
                let within = match limit.recovery() {
                    Some(span) => format!("{most} in {span}"),
                    None => format!("{most}"),
                };
                let wait = waiting(retry_after);
                format!("the limit `{policy}` ({within}) is used up; come back in {wait}")
            }
            Some(Refusal::Blocked { retry_after }) => {
                let wait = waiting(retry_after);
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

/// A time to wait as people say it, rounded up.
fn waiting(span: Span) -> String {
    let seconds = span.as_secs_ceil().max(1);
    let (count, unit) = match seconds {
        ..=119 => (seconds, "second"),
        120..=7_199 => (seconds.div_ceil(60), "minute"),
        7_200..=172_799 => (seconds.div_ceil(3_600), "hour"),
        _ => (seconds.div_ceil(86_400), "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

//! `POST /v1/report`: how a request ended, for rules with a cooldown.

mod request;

use sluicegate::{Ask, By, Decision, Span, Store};
use sluicegate_rules::{Answered, Mode, Outcome, RuleLimiter};

use self::request::ReportBody;
use super::object::{Object, name};
use super::problem::Problem;
use super::reading;
use super::verdict::{Made, is_unasked};
use super::{Answer, Asked, json, query};

/// What came of a report.
struct Body<'a> {
    /// How many rules have counted it as a failure …
    counted: u64,
    /// … and in how many it was an attempt that succeeded.
    settled: u64,
    /// Whether the caller is refused now …
    blocked: bool,
    /// … and for how long.
    retry_after_ms: Option<u64>,
    /// Who decided it, if not the store.
    by: Option<&'static str>,
    decisions: Vec<Made<'a>>,
}

/// Charges the cooldowns of the rules that apply.
pub(super) async fn answer<S: Store>(
    gate: &RuleLimiter<S>,
    asked: Asked<'_>,
) -> Result<Answer, Problem> {
    let nothing = query::nothing(asked.query);
    let ((), report) = reading::both(nothing, ReportBody::read(asked.body))?;
    let request = report.request();
    let reported =
        gate.decide_for(report.purpose(), &request, |answered| written(&Body::of(answered)));
    reported.await.map_err(Problem::undecided)
}

fn written(body: &Body<'_>) -> Answer {
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object.number(name!("counted"), body.counted);
    object.number(name!("settled"), body.settled);
    object.flag(name!("blocked"), body.blocked);
    object.number_if(name!("retry_after_ms"), body.retry_after_ms);
    object.text_maybe(name!("by"), body.by);
    object.list(name!("decisions"), &body.decisions, Made::write);
    object.end();
    json(out)
}

impl<'a> Body<'a> {
    const NOTHING: Self = Self {
        counted: 0,
        settled: 0,
        blocked: false,
        retry_after_ms: None,
        by: None,
        decisions: Vec::new(),
    };

    fn of(answered: &'a Answered<'a>) -> Self {
        let planned = answered.planned;
        let Some(verdict) = answered.verdict else {
            return Self { blocked: planned.outcome() == Outcome::Blocked, ..Self::NOTHING };
        };
        let (mut body, mut retry_after) = (Self::NOTHING, None::<Span>);
        let decisions = planned.plan().checks().iter().zip(verdict.decisions()).enumerate();
        for (index, (check, made)) in decisions {
            let Some(made) = made else { continue };
            match check.asks() {
                Ask::Charge(_) => {
                    body.counted += u64::from(made.granted() > 0);
                    continue;
                }
                Ask::Refund(_) => {
                    body.settled += u64::from(made.granted() > 0);
                    continue;
                }
                _ => {}
            }
            // Behind each report stands what it came to.
            let rule = planned.rule(index);
            if rule.is_some_and(|rule| rule.mode() == Mode::Enforce) {
                body.blocked |= !made.is_allowed();
                retry_after = retry_after.max(Decision::retry_after(made));
            }
            let unknown = is_unasked(check, verdict);
            let made = Made::of(rule, check, made, true);
            body.decisions.push(if unknown { made.unknown() } else { made });
        }
        body.by = (verdict.by() != By::Store).then_some(verdict.by().as_str());
        Self { retry_after_ms: retry_after.map(Span::as_millis_ceil), ..body }
    }
}

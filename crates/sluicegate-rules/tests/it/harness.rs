//! A rule limiter with a manual clock, and the calls to test it with.

use std::net::IpAddr;

use sluicegate::{Limiter, ManualClock, Memory, Refusal, Span, Time, Verdict};
use sluicegate_rules::{
    AttributeValue, Directory, Evaluation, PlanBuffer, PlanOutcome, Purpose, ReleaseOutcome,
    Request, RuleLimiter, RuleSet,
};
use sluicegate_testkit::at_once;

/// A Sunday, the first of November 2026, at midnight in UTC.
pub(crate) const NOVEMBER: Time = Time::from_micros(1_793_491_200_000_000);

/// A rule limiter with a manual clock.
pub(crate) struct TestLimiter {
    clock: ManualClock,
    pub(crate) gate: RuleLimiter<Memory<ManualClock>>,
}

/// The summary of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EvaluationSummary {
    pub(crate) allowed: bool,
    pub(crate) outcome: PlanResult,
    /// The strictest rule: the one that refuses, or has the smallest share left.
    pub(crate) rule: Option<String>,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) retry_after: Option<Span>,
    pub(crate) delay: Span,
    /// The remaining units by name of the limit; without checks that were not decided.
    pub(crate) left: Vec<(String, u64)>,
    /// The rules of the checks, each once.
    pub(crate) asked: Vec<String>,
    pub(crate) tier: Option<String>,
    pub(crate) cost: u64,
    pub(crate) slot: Option<String>,
}

/// The outcome of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlanResult {
    Asked,
    Free,
    Blocked,
    Unidentified(String),
}

/// Parses rules.
pub(crate) fn rules(text: &str) -> RuleSet {
    RuleSet::parse(text).unwrap_or_else(|report| panic!("{report}\nin\n{text}"))
}

impl TestLimiter {
    /// Creates a limiter with these rules, on the first of November.
    pub(crate) fn of(text: &str) -> Self {
        Self::at(NOVEMBER, text)
    }

    /// Creates a limiter with these rules, at a given time.
    pub(crate) fn at(time: Time, text: &str) -> Self {
        let clock = ManualClock::at(time);
        let limiter = Limiter::new(Memory::with_clock(clock.clone()));
        Self { clock, gate: RuleLimiter::new(limiter, rules(text)).unwrap() }
    }

    /// Creates another node with its own rules on the same store.
    pub(crate) fn another(&self, text: &str) -> Self {
        let gate = RuleLimiter::new(self.gate.limiter().clone(), rules(text)).unwrap();
        Self { clock: self.clock.clone(), gate }
    }

    /// Replaces the rules.
    pub(crate) fn replace(&self, text: &str) {
        self.gate.replace(rules(text));
    }

    pub(crate) fn wait(&self, time: Span) {
        self.clock.advance(std::time::Duration::from_micros(time.as_micros()));
    }

    pub(crate) fn set(&self, time: Time) {
        self.clock.set(time);
    }

    pub(crate) fn ask(&self, call: &Call) -> EvaluationSummary {
        self.gate.check(&call.request(), summarize).now().unwrap()
    }

    /// Reports the result of a call.
    pub(crate) fn report(&self, status: Option<u16>, call: &Call) -> EvaluationSummary {
        let report = call.request().purpose(Purpose::Failure(status));
        self.gate.check(&report, summarize).now().unwrap()
    }

    /// Releases the slot of a call.
    pub(crate) fn release(&self, slot: &str) -> ReleaseOutcome {
        at_once(self.gate.release(slot)).unwrap().unwrap()
    }

    /// How often in a row a call is allowed, up to `most`.
    pub(crate) fn admitted(&self, call: &Call, most: usize) -> usize {
        (0..most).take_while(|_| self.ask(call).allowed).count()
    }

    /// Makes a call `count` times and asserts that each is allowed.
    pub(crate) fn admit(&self, count: usize, call: &Call) -> EvaluationSummary {
        let mut last = self.ask(call);
        for number in 2..=count {
            assert!(last.allowed, "call {} of {count}: {last:?}", number - 1);
            last = self.ask(call);
        }
        assert!(last.allowed, "call {count} of {count}: {last:?}");
        last
    }

    /// Makes a call and asserts that it is refused.
    pub(crate) fn refuse(&self, call: &Call) -> EvaluationSummary {
        let answer = self.ask(call);
        assert!(!answer.allowed, "{answer:?}");
        answer
    }
}

impl EvaluationSummary {
    /// The remaining units of the limit of this name.
    pub(crate) fn left(&self, limit: &str) -> Option<u64> {
        self.left.iter().rev().find(|(name, _)| name == limit).map(|(_, left)| *left)
    }
}

fn summarize(evaluation: &Evaluation<'_>) -> EvaluationSummary {
    let planned = evaluation.planned;
    let verdict = evaluation.verdict;
    let strictest = verdict.and_then(Verdict::strictest);
    let checks = planned.plan().checks().iter();
    let decisions = verdict.map(Verdict::decisions).unwrap_or_default();
    let left = checks.zip(decisions).filter_map(|(check, decision)| {
        Some((check.limit().name().to_owned(), decision.as_ref()?.remaining()))
    });
    let mut asked: Vec<String> = (0..planned.plan().checks().len())
        .filter_map(|check| Some(planned.rule(check)?.name().to_owned()))
        .collect();
    asked.dedup();
    EvaluationSummary {
        allowed: evaluation.is_allowed(),
        outcome: match planned.outcome() {
            PlanOutcome::Check => PlanResult::Asked,
            PlanOutcome::Free => PlanResult::Free,
            PlanOutcome::Blocked => PlanResult::Blocked,
            PlanOutcome::Unidentified { identity, .. } => {
                PlanResult::Unidentified(identity.to_owned())
            }
        },
        rule: strictest
            .and_then(|strictest| Some(planned.rule(strictest.check)?.name().to_owned())),
        refusal: strictest.and_then(|strictest| strictest.decision.refusal()),
        retry_after: verdict.and_then(Verdict::retry_after),
        delay: verdict.map_or(Span::ZERO, Verdict::delay),
        left: left.collect(),
        asked,
        tier: planned.tier().map(str::to_owned),
        cost: planned.cost(),
        slot: evaluation.slot(),
    }
}

/// A call with its headers and attributes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    method: Option<&'static str>,
    target: Option<String>,
    host: Option<&'static str>,
    peer: Option<IpAddr>,
    headers: Vec<(&'static str, Vec<u8>)>,
    attributes: Vec<(&'static str, AttributeValue<'static>)>,
    cost: Option<u64>,
    body: Option<u64>,
}

impl Call {
    /// Whether upstreams may read its path, or a repeated header, in several ways.
    pub(crate) fn has_several_readings(&self) -> bool {
        let differs = |(name, value): &(&str, Vec<u8>)| {
            self.headers.iter().any(|(other, text)| other == name && text != value)
        };
        if self.headers.iter().any(differs) {
            return true;
        }
        let answer = self.attributes.iter().filter(|(name, _)| *name == "path");
        let answer = answer.map(|(_, path)| path.as_text().into_owned());
        let mut targets = self.target.iter().cloned().chain(answer);
        targets.any(|path| ["/..", ";", "\\"].iter().any(|odd| path.contains(odd)))
    }

    /// An empty call.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A call with a method to a path.
    pub(crate) fn to(method: &'static str, target: impl Into<String>) -> Self {
        Self { method: Some(method), target: Some(target.into()), ..Self::default() }
    }

    pub(crate) fn host(self, host: &'static str) -> Self {
        Self { host: Some(host), ..self }
    }

    pub(crate) fn peer(self, peer: &str) -> Self {
        Self { peer: Some(peer.parse().unwrap()), ..self }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name, value.as_ref().to_vec()));
        self
    }

    pub(crate) fn attribute(mut self, name: &'static str, value: AttributeValue<'static>) -> Self {
        self.attributes.push((name, value));
        self
    }

    /// Adds a text attribute.
    pub(crate) fn text(self, name: &'static str, text: &'static str) -> Self {
        self.attribute(name, AttributeValue::Text(text))
    }

    pub(crate) fn cost(self, units: u64) -> Self {
        Self { cost: Some(units), ..self }
    }

    pub(crate) fn body(self, bytes: u64) -> Self {
        Self { body: Some(bytes), ..self }
    }

    /// Adds the headers and attributes of another call.
    pub(crate) fn merged(self, other: Self) -> Self {
        Self { method: self.method, target: self.target, ..other }
    }

    pub(crate) fn request(&self) -> Request<'_> {
        let mut request = Request::new().headers(&self.headers).attributes(&self.attributes);
        request = self.method.map_or(request, |method| request.method(method));
        request = self.target.as_deref().map_or(request, |target| request.target(target));
        request = self.host.map_or(request, |host| request.host(host));
        request = self.peer.map_or(request, |peer| request.peer(peer));
        request = self.cost.map_or(request, |units| request.cost(units));
        self.body.map_or(request, |bytes| request.body_size(bytes))
    }

    /// The keys of the call's checks, in the order of the rules.
    pub(crate) fn keys(&self, rules: &RuleSet) -> Vec<Vec<u8>> {
        let (directory, mut buffer) = (Directory::new(), PlanBuffer::new());
        let request = self.request();
        let planned = rules.plan(&directory, &request, NOVEMBER, &mut buffer);
        planned.plan().checks().iter().map(|check| check.key().to_vec()).collect()
    }

    /// The rules that apply to the call at a time.
    pub(crate) fn met(&self, rules: &RuleSet, now: Time) -> Vec<String> {
        let (directory, mut buffer) = (Directory::new(), PlanBuffer::new());
        let request = self.request();
        let planned = rules.plan(&directory, &request, now, &mut buffer);
        let mut met: Vec<String> = (0..planned.plan().checks().len())
            .filter_map(|check| Some(planned.rule(check)?.name().to_owned()))
            .collect();
        met.dedup();
        met
    }

    /// The highest cost of the call under any rule.
    pub(crate) fn price(&self, rules: &RuleSet) -> u64 {
        let (directory, mut buffer) = (Directory::new(), PlanBuffer::new());
        rules.plan(&directory, &self.request(), NOVEMBER, &mut buffer).cost()
    }
}

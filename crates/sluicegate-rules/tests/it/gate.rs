//! Rules in force on a store whose clock is moved by hand, and the calls they are asked about.

use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sluicegate::{Limiter, ManualClock, Memory, Refusal, Span, Time, Verdict};
use sluicegate_rules::{
    Answered, Desk, Directory, Outcome, Purpose, Released, Request, RuleLimiter, RuleSet, Value,
};

/// A Sunday, the first of November 2026, at midnight in UTC.
pub(crate) const NOVEMBER: Time = Time::from_micros(1_793_491_200_000_000);

/// Rules in force.
pub(crate) struct Gate {
    clock: ManualClock,
    pub(crate) gate: RuleLimiter<Memory<ManualClock>>,
}

/// What a call was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) allowed: bool,
    pub(crate) outcome: Decided,
    /// The rule that says most: who refuses, or whose share left is the smallest.
    pub(crate) rule: Option<String>,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) retry_after: Option<Span>,
    pub(crate) delay: Span,
    /// What each check left, by the name of its limit; checks that were not asked are left out.
    pub(crate) left: Vec<(String, u64)>,
    /// The rules that were asked, each once.
    pub(crate) asked: Vec<String>,
    pub(crate) tier: Option<String>,
    pub(crate) cost: u64,
    pub(crate) slot: Option<String>,
}

/// How it was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decided {
    Asked,
    Free,
    Blocked,
    Unidentified(String),
}

/// The rules of a text.
pub(crate) fn rules(text: &str) -> RuleSet {
    RuleSet::parse(text).unwrap_or_else(|report| panic!("{report}\nin\n{text}"))
}

impl Gate {
    /// The rules of a text, from the first of November on.
    pub(crate) fn of(text: &str) -> Self {
        Self::at(NOVEMBER, text)
    }

    /// The same, from another time on.
    pub(crate) fn at(time: Time, text: &str) -> Self {
        let clock = ManualClock::at(time);
        let limiter = Limiter::new(Memory::with_clock(clock.clone()));
        Self { clock, gate: RuleLimiter::new(limiter, rules(text)).unwrap() }
    }

    /// Another node: rules of its own on the same store.
    pub(crate) fn another(&self, text: &str) -> Self {
        let gate = RuleLimiter::new(self.gate.limiter().clone(), rules(text)).unwrap();
        Self { clock: self.clock.clone(), gate }
    }

    /// Puts other rules in force.
    pub(crate) fn replace(&self, text: &str) {
        self.gate.replace(rules(text));
    }

    pub(crate) fn wait(&self, time: Span) {
        self.clock.advance(std::time::Duration::from_micros(time.as_micros()));
    }

    pub(crate) fn set(&self, time: Time) {
        self.clock.set(time);
    }

    pub(crate) fn ask(&self, call: &Call) -> Told {
        self.gate.decide_now(&call.request(), told).unwrap()
    }

    /// Reports how a call ended.
    pub(crate) fn report(&self, status: Option<u16>, call: &Call) -> Told {
        at_once(self.gate.decide_for(Purpose::Failure(status), &call.request(), told)).unwrap()
    }

    /// Gives back what a call held.
    pub(crate) fn release(&self, slot: &str) -> Released {
        at_once(self.gate.release(slot)).unwrap().unwrap()
    }

    /// How often in a row a call is allowed; at most so often.
    pub(crate) fn admitted(&self, call: &Call, most: usize) -> usize {
        (0..most).take_while(|_| self.ask(call).allowed).count()
    }

    /// Makes a call so often, and every time it has to be allowed.
    pub(crate) fn admit(&self, count: usize, call: &Call) -> Told {
        let mut last = self.ask(call);
        for number in 2..=count {
            assert!(last.allowed, "call {} of {count}: {last:?}", number - 1);
            last = self.ask(call);
        }
        assert!(last.allowed, "call {count} of {count}: {last:?}");
        last
    }

    /// Makes a call that has to be refused.
    pub(crate) fn refuse(&self, call: &Call) -> Told {
        let told = self.ask(call);
        assert!(!told.allowed, "{told:?}");
        told
    }
}

impl Told {
    /// What is left of the limit of this name.
    pub(crate) fn left(&self, limit: &str) -> Option<u64> {
        self.left.iter().rev().find(|(name, _)| name == limit).map(|(_, left)| *left)
    }
}

fn told(answer: &Answered<'_>) -> Told {
    let planned = answer.planned;
    let verdict = answer.verdict;
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
    Told {
        allowed: answer.is_allowed(),
        outcome: match planned.outcome() {
            Outcome::Ask => Decided::Asked,
            Outcome::Free => Decided::Free,
            Outcome::Blocked => Decided::Blocked,
            Outcome::Unidentified { identity, .. } => Decided::Unidentified(identity.to_owned()),
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
        slot: answer.slot(),
    }
}

/// The memory store never waits.
pub(crate) fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the memory store made somebody wait"),
    }
}

/// A call, with whatever is said about it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    method: Option<&'static str>,
    target: Option<String>,
    host: Option<&'static str>,
    peer: Option<IpAddr>,
    headers: Vec<(&'static str, Vec<u8>)>,
    attributes: Vec<(&'static str, Value<'static>)>,
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
        let told = self.attributes.iter().filter(|(name, _)| *name == "path");
        let told = told.map(|(_, path)| path.as_text().into_owned());
        let mut targets = self.target.iter().cloned().chain(told);
        targets.any(|path| ["/..", ";", "\\"].iter().any(|odd| path.contains(odd)))
    }

    /// A call of which nothing is known.
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

    pub(crate) fn attribute(mut self, name: &'static str, value: Value<'static>) -> Self {
        self.attributes.push((name, value));
        self
    }

    /// An attribute that is a text.
    pub(crate) fn told(self, name: &'static str, text: &'static str) -> Self {
        self.attribute(name, Value::Text(text))
    }

    pub(crate) fn cost(self, units: u64) -> Self {
        Self { cost: Some(units), ..self }
    }

    pub(crate) fn body(self, bytes: u64) -> Self {
        Self { body: Some(bytes), ..self }
    }

    /// This call, with all else that another says.
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

    /// The keys of what the call owes, in the order of the rules.
    pub(crate) fn keys(&self, rules: &RuleSet) -> Vec<Vec<u8>> {
        let (directory, mut desk) = (Directory::new(), Desk::new());
        let request = self.request();
        let planned = rules.plan(&directory, &request, NOVEMBER, &mut desk);
        planned.plan().checks().iter().map(|check| check.key().to_vec()).collect()
    }

    /// The rules that apply to the call at a time.
    pub(crate) fn met(&self, rules: &RuleSet, now: Time) -> Vec<String> {
        let (directory, mut desk) = (Directory::new(), Desk::new());
        let request = self.request();
        let planned = rules.plan(&directory, &request, now, &mut desk);
        let mut met: Vec<String> = (0..planned.plan().checks().len())
            .filter_map(|check| Some(planned.rule(check)?.name().to_owned()))
            .collect();
        met.dedup();
        met
    }

    /// What the call costs, by the most that any rule says.
    pub(crate) fn price(&self, rules: &RuleSet) -> u64 {
        let (directory, mut desk) = (Directory::new(), Desk::new());
        rules.plan(&directory, &self.request(), NOVEMBER, &mut desk).cost()
    }
}

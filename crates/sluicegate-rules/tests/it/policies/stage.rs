//! What a policy is replayed on: its file, a store, and a clock that is moved by hand.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sluicegate::{Clock, Limiter, ManualClock, Memory, Refusal, Time, Verdict};
use sluicegate_rules::{
    Answered, Outcome, Purpose, Released, Request, RuleFile, RuleLimiter, RuleSet, Shelf,
};

/// A Thursday, the first of a month: minutes, hours, days and months begin here.
pub(super) const NEW_YEAR: Time = Time::from_micros(1_767_225_600_000_000);

/// A policy in force.
pub(super) struct Stage {
    clock: ManualClock,
    gate: RuleLimiter<Memory<ManualClock>>,
}

/// What a request was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) allowed: bool,
    /// The rule that says most: who refuses, or whose share left is the smallest.
    pub(super) rule: String,
    pub(super) limit: u64,
    pub(super) remaining: u64,
    pub(super) retry_after: Option<Duration>,
    pub(super) delay: Duration,
    pub(super) refusal: Option<Refusal>,
    /// What has to be brought back when the request has ended.
    pub(super) slot: Option<String>,
    /// What is left of each rule's limits, in the order of the file.
    pub(super) left: Vec<(String, u64)>,
}

/// The folder of the policies.
pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies")
}

/// Reads a policy; it has to be without mistakes.
pub(super) fn load(name: &str) -> RuleFile {
    let file =
        RuleFile::load(&folder().join(name).with_extension("yaml")).expect("there is a policy");
    assert!(!file.report.has_errors(), "{}", file.report);
    file
}

/// The rules of a policy with another text in a file beside it.
pub(super) fn with_table(name: &str, table: &str, text: &str) -> RuleSet {
    let path = folder().join(name).with_extension("yaml");
    let policy = std::fs::read_to_string(&path).expect("there is a policy");
    let shelf = Shelf::new().with(&path, policy).with(folder().join(table), text);
    let file = RuleFile::load_with(&path, &shelf, &|_| None).expect("it is on the shelf");
    assert!(!file.report.has_errors(), "{}", file.report);
    file.rules.expect("there are no errors")
}

impl Stage {
    /// A policy, from the beginning of a year on.
    pub(super) fn of(name: &str) -> Self {
        let rules = load(name).rules.expect("there are no errors");
        let clock = ManualClock::at(NEW_YEAR);
        let gate =
            RuleLimiter::new(Limiter::new(Memory::with_clock(clock.clone())), rules).unwrap();
        Self { clock, gate }
    }

    /// Puts other rules in force.
    pub(super) fn replace(&self, rules: RuleSet) {
        self.gate.replace(rules);
    }

    /// Lets time pass.
    pub(super) fn wait(&self, time: Duration) {
        self.clock.advance(time);
    }

    /// How long it is since the beginning.
    pub(super) fn elapsed(&self) -> Duration {
        Duration::from_micros(self.clock.now().since(NEW_YEAR).as_micros())
    }

    /// Asks for a request.
    pub(super) fn ask(&self, request: &Request<'_>) -> Told {
        self.gate.decide_now(request, told).expect("the memory store answers")
    }

    /// Asks for the same request again and again, and says how often it was allowed in a row.
    pub(super) fn burst(&self, request: &Request<'_>) -> usize {
        let allowed = (0..MANY).take_while(|_| self.ask(request).allowed).count();
        assert!(allowed < MANY, "nothing limits this request");
        allowed
    }

    /// Asks for so many of the same request, all of which have to be allowed; the last answer.
    pub(super) fn admit(&self, count: usize, request: &Request<'_>) -> Told {
        let mut last = None;
        for number in 1..=count {
            let told = self.ask(request);
            assert!(told.allowed, "request {number} of {count}: {told:?}");
            last = Some(told);
        }
        last.expect("at least one is asked for")
    }

    /// Asks for a request that has to be refused by this rule.
    pub(super) fn refuse(&self, rule: &str, request: &Request<'_>) -> Told {
        let told = self.ask(request);
        assert!(!told.allowed, "{told:?}");
        assert_eq!(told.rule, rule, "{told:?}");
        told
    }

    /// Waits as long as a refusal says, and no shorter; then the request is allowed.
    pub(super) fn come_back(&self, rule: &str, request: &Request<'_>) -> Duration {
        let wait = self.refuse(rule, request).retry_after.expect("it is known when to come back");
        self.wait(wait.saturating_sub(Duration::from_micros(1)));
        self.refuse(rule, request);
        self.wait(Duration::from_micros(1));
        self.admit(1, request);
        wait
    }

    /// Reports how a request ended.
    pub(super) fn report(&self, status: u16, request: &Request<'_>) -> Told {
        let reported = self.gate.decide_for(Purpose::Failure(Some(status)), request, told);
        at_once(reported).expect("the memory store answers")
    }

    /// Gives a slot back.
    pub(super) fn release(&self, slot: &str) -> Released {
        at_once(self.gate.release(slot)).expect("it is a slot").expect("the memory store answers")
    }
}

impl Told {
    /// What is left of the last limit of a rule.
    pub(super) fn left(&self, rule: &str) -> Option<u64> {
        self.left.iter().rev().find(|(name, _)| name == rule).map(|(_, left)| *left)
    }
}

/// More than any policy allows in a row here.
const MANY: usize = 20_000;

fn told(answer: &Answered<'_>) -> Told {
    let planned = answer.planned;
    let name = |check| planned.rule(check).map_or(String::new(), |rule| rule.name().to_owned());
    let strictest = answer.verdict.and_then(Verdict::strictest);
    let decisions = answer.verdict.map(Verdict::decisions).unwrap_or_default();
    let duration = |span: sluicegate::Span| Duration::from_micros(span.as_micros());
    Told {
        allowed: answer.is_allowed(),
        rule: match planned.outcome() {
            Outcome::Unidentified { rule, .. } => rule.to_owned(),
            _ => strictest.map_or(String::new(), |strictest| name(strictest.check)),
        },
        limit: strictest.map_or(0, |strictest| strictest.decision.limit()),
        remaining: strictest.map_or(0, |strictest| strictest.decision.remaining()),
        retry_after: answer.verdict.and_then(Verdict::retry_after).map(duration),
        delay: answer.verdict.map_or(Duration::ZERO, |verdict| duration(verdict.delay())),
        refusal: strictest.and_then(|strictest| strictest.decision.refusal()),
        slot: answer.slot(),
        left: decisions
            .iter()
            .enumerate()
            .filter_map(|(check, decision)| Some((name(check), decision.as_ref()?.remaining())))
            .collect(),
    }
}

/// The memory store never waits.
fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the memory store made somebody wait"),
    }
}

/// The policies' files, by name.
pub(super) fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("there are policies");
    let paths = files.map(|file| file.expect("it can be looked at").path());
    let yaml = paths.filter(|path| path.extension().is_some_and(|end| end == "yaml"));
    let stem = |path: PathBuf| path.file_stem().and_then(|name| name.to_str()).map(str::to_owned);
    let mut names: Vec<String> = yaml.filter_map(stem).collect();
    names.sort();
    names
}

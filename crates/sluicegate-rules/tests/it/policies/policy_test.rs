//! A policy with a memory store and a manual clock.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sluicegate::{Clock, Limiter, ManualClock, Memory, Refusal, Time, Verdict};
use sluicegate_rules::{
    Evaluation, InMemoryFiles, PlanOutcome, Purpose, ReleaseOutcome, Request, RuleFile,
    RuleLimiter, RuleSet,
};
use sluicegate_testkit::at_once;

/// A Thursday, the first of a month, so that minutes, hours, days and months begin here.
pub(super) const NEW_YEAR: Time = Time::from_micros(1_767_225_600_000_000);

/// A limiter with the rules of a policy.
pub(super) struct PolicyTest {
    clock: ManualClock,
    gate: RuleLimiter<Memory<ManualClock>>,
}

/// The summary of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PolicyAnswer {
    pub(super) allowed: bool,
    /// The strictest rule: the one that refuses, or has the smallest share left.
    pub(super) rule: String,
    pub(super) limit: u64,
    pub(super) remaining: u64,
    pub(super) retry_after: Option<Duration>,
    pub(super) delay: Duration,
    pub(super) refusal: Option<Refusal>,
    /// The token to send back when the request ends.
    pub(super) slot: Option<String>,
    /// The remaining units of each rule's limits, in the order of the file.
    pub(super) left: Vec<(String, u64)>,
}

/// The folder of the policies.
pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies")
}

/// Loads a policy and asserts that it has no errors.
pub(super) fn load(name: &str) -> RuleFile {
    let file =
        RuleFile::load(&folder().join(name).with_extension("yaml")).expect("there is a policy");
    assert!(!file.report.has_errors(), "{}", file.report);
    file
}

/// The rules of a policy with another text in one of its tables.
pub(super) fn with_table(name: &str, table: &str, text: &str) -> RuleSet {
    let path = folder().join(name).with_extension("yaml");
    let policy = std::fs::read_to_string(&path).expect("there is a policy");
    let shelf = InMemoryFiles::new().with(&path, policy).with(folder().join(table), text);
    let file = RuleFile::load_with(&path, &shelf, &|_| None).expect("it is on the shelf");
    assert!(!file.report.has_errors(), "{}", file.report);
    file.rules.expect("there are no errors")
}

impl PolicyTest {
    /// Creates a limiter for a policy, at the beginning of a year.
    pub(super) fn of(name: &str) -> Self {
        let rules = load(name).rules.expect("there are no errors");
        let clock = ManualClock::at(NEW_YEAR);
        let gate =
            RuleLimiter::new(Limiter::new(Memory::with_clock(clock.clone())), rules).unwrap();
        Self { clock, gate }
    }

    /// Replaces the rules.
    pub(super) fn replace(&self, rules: RuleSet) {
        self.gate.replace(rules);
    }

    /// Advances the clock.
    pub(super) fn wait(&self, time: Duration) {
        self.clock.advance(time);
    }

    /// The time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        Duration::from_micros(self.clock.now().since(NEW_YEAR).as_micros())
    }

    /// Makes a request.
    pub(super) fn ask(&self, request: &Request<'_>) -> PolicyAnswer {
        self.gate.check(request, summarize).now().expect("the memory store answers")
    }

    /// Repeats a request until it is refused, and returns how often it was allowed.
    pub(super) fn burst(&self, request: &Request<'_>) -> usize {
        let allowed = (0..MANY).take_while(|_| self.ask(request).allowed).count();
        assert!(allowed < MANY, "nothing limits this request");
        allowed
    }

    /// Repeats a request, asserts that each is allowed, and returns the last answer.
    pub(super) fn admit(&self, count: usize, request: &Request<'_>) -> PolicyAnswer {
        let mut last = None;
        for number in 1..=count {
            let answer = self.ask(request);
            assert!(answer.allowed, "request {number} of {count}: {answer:?}");
            last = Some(answer);
        }
        last.expect("at least one is asked for")
    }

    /// Makes a request and asserts that this rule refuses it.
    pub(super) fn refuse(&self, rule: &str, request: &Request<'_>) -> PolicyAnswer {
        let answer = self.ask(request);
        assert!(!answer.allowed, "{answer:?}");
        assert_eq!(answer.rule, rule, "{answer:?}");
        answer
    }

    /// Asserts that the request is allowed after the reported wait, and not before.
    pub(super) fn come_back(&self, rule: &str, request: &Request<'_>) -> Duration {
        let wait = self.refuse(rule, request).retry_after.expect("it is known when to come back");
        self.wait(wait.saturating_sub(Duration::from_micros(1)));
        self.refuse(rule, request);
        self.wait(Duration::from_micros(1));
        self.admit(1, request);
        wait
    }

    /// Reports the result of a request.
    pub(super) fn report(&self, status: u16, request: &Request<'_>) -> PolicyAnswer {
        let report = request.purpose(Purpose::Failure(Some(status)));
        self.gate.check(&report, summarize).now().expect("the memory store answers")
    }

    /// Releases a slot.
    pub(super) fn release(&self, slot: &str) -> ReleaseOutcome {
        at_once(self.gate.release(slot)).expect("it is a slot").expect("the memory store answers")
    }
}

impl PolicyAnswer {
    /// The remaining units of the last limit of a rule.
    pub(super) fn left(&self, rule: &str) -> Option<u64> {
        self.left.iter().rev().find(|(name, _)| name == rule).map(|(_, left)| *left)
    }
}

/// More requests in a row than any policy here allows.
const MANY: usize = 20_000;

fn summarize(evaluation: &Evaluation<'_>) -> PolicyAnswer {
    let planned = evaluation.planned;
    let name = |check| planned.rule(check).map_or(String::new(), |rule| rule.name().to_owned());
    let strictest = evaluation.verdict.and_then(Verdict::strictest);
    let decisions = evaluation.verdict.map(Verdict::decisions).unwrap_or_default();
    let duration = |span: sluicegate::Span| Duration::from_micros(span.as_micros());
    PolicyAnswer {
        allowed: evaluation.is_allowed(),
        rule: match planned.outcome() {
            PlanOutcome::Unidentified { rule, .. } => rule.to_owned(),
            _ => strictest.map_or(String::new(), |strictest| name(strictest.check)),
        },
        limit: strictest.map_or(0, |strictest| strictest.decision.limit()),
        remaining: strictest.map_or(0, |strictest| strictest.decision.remaining()),
        retry_after: evaluation.verdict.and_then(Verdict::retry_after).map(duration),
        delay: evaluation.verdict.map_or(Duration::ZERO, |verdict| duration(verdict.delay())),
        refusal: strictest.and_then(|strictest| strictest.decision.refusal()),
        slot: evaluation.slot(),
        left: decisions
            .iter()
            .enumerate()
            .filter_map(|(check, decision)| Some((name(check), decision.as_ref()?.remaining())))
            .collect(),
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

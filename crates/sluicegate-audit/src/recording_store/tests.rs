//! Traces of decisions in memory, and their audits.

mod gaps;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use sluicegate::{ManualClock, Memory, Plan};
use sluicegate_core::{Cost, Limit, OnStoreError, Operation, Scope, Slices};

use super::*;
use crate::{Findings, LatencyBounds, TraceHeader, TraceReader, TraceWriter};

const SECRET: [u8; 32] = [7; 32];

/// A trace in memory.
#[derive(Clone, Default)]
struct SharedOutput(Arc<Mutex<Vec<u8>>>);

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A limiter whose decisions are recorded.
struct RecordedLimiter<S> {
    limiter: Limiter<RecordingStore<S>>,
    trace: TraceWriter,
    output: SharedOutput,
}

impl<S: Store> RecordedLimiter<S> {
    fn new(store: S) -> Self {
        Self::with(store, |recorder| recorder)
    }

    fn with(store: S, change: impl FnOnce(Recorder) -> Recorder) -> Self {
        let output = SharedOutput::default();
        let trace = TraceWriter::to(output.clone(), &TraceHeader::default()).unwrap();
        let recorder = change(Recorder::new(trace.clone(), "a", SECRET));
        let limiter = Limiter::new(RecordingStore::new(Limiter::new(store), recorder));
        Self { limiter, trace, output }
    }

    fn text(&self) -> String {
        self.trace.finish().unwrap();
        String::from_utf8(self.output.0.lock().unwrap().clone()).unwrap()
    }
}

fn audit(text: &str) -> Findings {
    let mut files = TraceReader::new(TraceHeader::default());
    files.read("trace", Box::new(io::Cursor::new(text.to_owned().into_bytes())));
    files.audit(LatencyBounds::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the lines that do not contain this word.
fn remove_word(text: &str, word: &str) -> String {
    text.lines().filter(|line| !line.contains(word)).flat_map(|line| [line, "\n"]).collect()
}

fn bucket(name: &'static str, quota: &str) -> Limit {
    Limit::token_bucket(name, quota.parse().unwrap()).unwrap().without_debt()
}

fn limits() -> Vec<Limit> {
    let quota = |text: &str| text.parse().unwrap();
    vec![
        bucket("bucket", "100/s burst 5"),
        Limit::leaky_bucket("leaky", quota("7/3s burst 9")).unwrap(),
        Limit::queue("queue", quota("10/s burst 3")).unwrap(),
        Limit::fixed_window("fixed", quota("9/s")).unwrap(),
        Limit::sliding_window("sliding", quota("10/s"), Slices::Weighted(2)).unwrap(),
        Limit::sliding_window("strict", quota("10/s"), Slices::Strict(10)).unwrap(),
        Limit::sliding_log("log", quota("6/s")).unwrap(),
    ]
}

#[test]
fn every_kind_of_limit_passes_an_audit() {
    let clock = ManualClock::default();
    let incidents = RecordedLimiter::new(Memory::with_clock(clock.clone()));
    let limits = limits();
    for turn in 0..2_000_u64 {
        let key = format!("user:{}", turn % 3);
        for limit in &limits {
            let cost = Cost::new(turn % 4).unwrap();
            incidents.limiter.check(Check::new(limit, &key).cost(cost)).now().unwrap();
        }
        clock.advance(Duration::from_micros(turn * 37 % 50_000));
    }
    let text = incidents.text();
    let findings = audit(&text);
    assert!(findings.is_ok(), "{findings}");
    assert_eq!((findings.entries, findings.lost), (14_000, 0));
    for rule in &findings.rules {
        assert_eq!((rule.exact, rule.keys), (2_000, 3), "{findings}");
        assert!(rule.refused > 50, "{findings}");
    }
}

#[test]
fn a_trace_contains_no_keys() {
    let incidents = RecordedLimiter::new(Memory::new());
    let limit = bucket("api", "5/min");
    incidents.limiter.check(Check::new(&limit, "sk_live_4242")).now().unwrap();
    let text = incidents.text();
    assert!(!text.contains("sk_live") && !text.contains("4242"), "{text}");
    let digest = blake3::keyed_hash(&SECRET, b"sk_live_4242").to_hex();
    assert!(text.contains(&format!("\"key\":\"{}\"", &digest[..32])), "{text}");
    let shown = format!("{:?}", Recorder::new(incidents.trace, "a", SECRET));
    assert_eq!(shown, "Recorder { node: \"a\", is_shared: false, .. }");
}

#[test]
fn a_refused_set_is_recorded_without_charges() {
    let clock = ManualClock::default();
    let incidents = RecordedLimiter::new(Memory::with_clock(clock.clone()));
    let (wide, narrow) = (bucket("wide", "100/min"), bucket("narrow", "3/min"));
    for _ in 0..9 {
        let mut plan = Plan::new();
        plan.require(Check::new(&wide, "ann"));
        plan.require(Check::new(&narrow, "ann"));
        incidents.limiter.check_plan(&plan).now().unwrap();
        clock.advance(Duration::from_micros(1));
    }
    let findings = audit(&incidents.text());
    assert!(findings.is_ok(), "{findings}");
    let wide = findings.rules.iter().find(|rule| rule.rule.starts_with("wide#")).unwrap();
    assert_eq!((wide.decisions, wide.allowed, wide.exact), (9, 9, 9));
    assert_eq!(wide.tightest.as_ref().unwrap().admitted, 3);
}

#[test]
fn slots_are_taken_renewed_and_released_by_id() {
    let clock = ManualClock::default();
    let incidents = RecordedLimiter::new(Memory::with_clock(clock.clone()));
    let limit = Limit::concurrency("slots", 2, Span::from_secs(10)).unwrap();
    let take = || incidents.limiter.check(Check::new(&limit, "ann")).now().unwrap();
    for _ in 0..5 {
        let held: Vec<_> = (0..3).filter_map(|_| take().receipt().copied()).collect();
        assert_eq!(held.len(), 2);
        clock.advance(Duration::from_secs(6));
        for receipt in &held {
            let ask = Operation::Renew(*receipt);
            assert!(
                incidents
                    .limiter
                    .check(Check::new(&limit, "ann").with_operation(ask))
                    .now()
                    .unwrap()
                    .is_allowed()
            );
        }
        clock.advance(Duration::from_secs(6));
        for receipt in held {
            let ask = Operation::Settle { receipt, actual: Cost::ZERO };
            incidents.limiter.check(Check::new(&limit, "ann").with_operation(ask)).now().unwrap();
        }
    }
    let text = incidents.text();
    let findings = audit(&text);
    assert!(findings.is_ok(), "{findings}");
    assert_eq!((findings.rules[0].allowed, findings.rules[0].exact), (10, 15), "{findings}");
    let unreleased = remove_word(&text, "release");
    let unreleased = unreleased.replace("\"entries\":35", "\"entries\":25");
    assert!(!audit(&unreleased).is_ok(), "the releases matter");
}

#[test]
fn units_that_come_back_without_a_receipt_may_be_taken_again() {
    let clock = ManualClock::default();
    let incidents = RecordedLimiter::new(Memory::with_clock(clock.clone()));
    let quota = |text: &str| text.parse().unwrap();
    let limits = [
        bucket("bucket", "6/min burst 3"),
        Limit::sliding_log("log", quota("3/min")).unwrap(),
        Limit::fixed_window("window", quota("3/min")).unwrap(),
    ];
    for turn in 0..40_u32 {
        for limit in &limits {
            while incidents.limiter.check(Check::new(limit, "ann")).now().unwrap().is_allowed() {}
            // Sometimes more than is used, and sometimes nothing.
            incidents.limiter.refund_units(limit, "ann", Cost::from(turn % 6)).now().unwrap();
        }
        clock.advance(Duration::from_millis(3_700));
    }
    let text = incidents.text();
    let findings = audit(&text);
    assert!(findings.is_ok(), "{findings}");
    let silent = remove_word(&text, "refund");
    let entries = |text: &str| format!("\"entries\":{}", text.matches("\"rule\":\"").count());
    let silent = silent.replace(&entries(&text), &entries(&silent));
    assert!(!audit(&silent).is_ok(), "what came back matters");
}

#[test]
fn a_caller_with_a_new_quota_keeps_its_usage() {
    let clock = ManualClock::default();
    let incidents = RecordedLimiter::new(Memory::with_clock(clock.clone()));
    let quotas = [bucket("api", "5/min"), bucket("api", "50/min"), bucket("api", "2/min")];
    for turn in 0..600_usize {
        // Ann changes her quota again and again, Bob never does.
        let limit = &quotas[turn / 40 % 3];
        incidents.limiter.check(Check::new(limit, "ann")).now().unwrap();
        incidents.limiter.check(Check::new(&quotas[0], "bob")).now().unwrap();
        clock.advance(Duration::from_millis(700));
    }
    let text = incidents.text();
    assert_eq!(text.matches("\"event\":\"rules\"").count(), 3, "{text:.2000}");
    let findings = audit(&text);
    assert!(findings.is_ok(), "{findings}");
    let compared: u64 = findings.rules.iter().map(|rule| rule.exact).sum();
    assert!(compared > 600, "{findings}");
    // If the counters are not known to be shared, refusals look wrong.
    let apart = text.replace("\"counter\":\"api\",", "").replace(",\"counter\":\"api\"", "");
    assert_ne!(apart, text);
    assert!(!audit(&apart).is_ok());
}

#[test]
fn many_threads_on_one_key_pass_an_audit() {
    let incidents = RecordedLimiter::new(Memory::new());
    let limit = bucket("api", "2000/s burst 100");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    incidents.limiter.check(Check::new(&limit, "hot")).now().unwrap();
                }
            });
        }
    });
    let findings = audit(&incidents.text());
    assert!(findings.is_ok(), "{findings}");
    assert_eq!(findings.entries + findings.lost, 20_000);
}

#[test]
fn checks_that_arrive_together_are_all_written() {
    let incidents = RecordedLimiter::new(Memory::new());
    let limits = limits();
    let checks: Vec<_> = limits.iter().cycle().take(100).map(|l| Check::new(l, "ann")).collect();
    // It stops at the first limit with calendar periods.
    let at_once = incidents.limiter.try_check_batch(&checks, |_| ());
    assert!(at_once > 0);
    let plans: Vec<_> = checks
        .iter()
        .map(|check| {
            let mut plan = Plan::new();
            plan.require(*check);
            plan
        })
        .collect();
    assert!(incidents.limiter.check_batch(&plans).now().iter().all(Result::is_ok));
    let findings = audit(&incidents.text());
    assert!(findings.is_ok(), "{findings}");
    assert_eq!(findings.entries, at_once as u64 + 100);
    assert_eq!(RecordingStore::<Memory>::BATCH, Memory::<sluicegate::SystemClock>::BATCH);
}

#[test]
fn counters_of_one_node_are_distinguished_from_shared_ones() {
    let incidents = RecordedLimiter::with(Memory::new(), Recorder::sharing);
    let limit = bucket("api", "5/min");
    incidents.limiter.check(Check::new(&limit, "ann").scoped(Scope::Node)).now().unwrap();
    incidents
        .limiter
        .check(Check::new(&limit, "bob").if_unreachable(OnStoreError::Deny))
        .now()
        .unwrap();
    let text = incidents.text();
    assert!(text.contains("\"by_node\":true") && text.contains("\"key\":\"a/"), "{text}");
    let findings = audit(&text);
    assert_eq!(findings.rules.len(), 2, "{findings}");
    assert!(findings.notes.iter().any(|note| note.contains("is not checked")), "{findings}");
    assert!(findings.rules.iter().any(|rule| rule.limit.ends_with("refused without a store")));
}

//! Gaps are recorded, and cause no false violations.

use std::future::{IntoFuture, pending};
use std::pin::pin;
use std::time::Duration;

use sluicegate::{ManualClock, Memory};
use sluicegate_testkit::poll_once;

use super::{RecordedLimiter, audit, bucket};
use crate::ViolationKind;
use crate::recording_store::*;

/// A store that never answers.
struct SilentStore(Memory);

impl Store for SilentStore {
    type Clock = <Memory as Store>::Clock;

    fn clock(&self) -> &Self::Clock {
        self.0.clock()
    }

    async fn apply(&self, _: &mut Batch<'_>) -> Result<(), CheckError> {
        pending().await
    }

    fn apply_detached(&self, _: Check<'_>) {}
}

#[test]
fn a_request_without_an_answer_is_a_gap() {
    let incidents = RecordedLimiter::new(SilentStore(Memory::new()));
    let limit = bucket("api", "5/min");
    {
        let asking = incidents.limiter.check(Check::new(&limit, "ann"));
        assert!(poll_once(pin!(asking.into_future())).is_pending());
    }
    let text = incidents.text();
    assert!(text.contains("{\"event\":\"gap\",\"lost\":1,"), "{text}");
    let findings = audit(&text);
    assert_eq!((findings.is_ok(), findings.entries, findings.lost), (true, 0, 1), "{findings}");
}

#[test]
fn a_gap_causes_no_false_violations_and_hides_no_true_ones() {
    let clock = ManualClock::default();
    let incidents = RecordedLimiter::new(Memory::with_clock(clock.clone()));
    let limit = bucket("api", "60/min burst 10");
    for _ in 0..400 {
        incidents.limiter.check(Check::new(&limit, "ann")).now().unwrap();
        clock.advance(Duration::from_millis(200));
    }
    let text = incidents.text();
    let lines: Vec<&str> = text.lines().collect();
    let at = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        value["at"].as_u64().unwrap()
    };
    // The header, the rule, 400 entries, the end.
    let (from, until) = (at(lines[2 + 5]), at(lines[2 + 104]));
    let without = |gap: Option<String>| {
        let mut kept: Vec<String> = lines[..7].iter().map(|line| (*line).to_owned()).collect();
        kept.extend(gap);
        kept.extend(lines[107..402].iter().map(|line| (*line).to_owned()));
        let lost = if kept.len() > 302 { 100 } else { 0 };
        kept.push(format!("{{\"event\":\"end\",\"entries\":300,\"lost\":{lost}}}"));
        kept.join("\n")
    };
    assert!(!audit(&without(None)).is_ok(), "what is missing without a word is a mistake");
    let gap = format!("{{\"event\":\"gap\",\"lost\":100,\"from_us\":{from},\"until_us\":{until}}}");
    let with_gap = without(Some(gap));
    let findings = audit(&with_gap);
    assert!(findings.is_ok(), "{findings}");
    assert_eq!((findings.entries, findings.lost), (300, 100));
    assert!(findings.notes.iter().any(|note| note.starts_with("100 entries are missing")));
    // After the gap, an excess of more than one budget is still found.
    let (before, after) = with_gap.split_at(with_gap.len() / 2);
    let forged = after.replace("\"allowed\":false", "\"allowed\":true");
    let findings = audit(&format!("{before}{forged}"));
    assert!(findings.violations[0].kind == ViolationKind::OverAdmitted, "{findings}");
}

#[test]
fn a_missing_reset_explains_the_admissions_after_it() {
    let clock = ManualClock::default();
    let incidents = RecordedLimiter::new(Memory::with_clock(clock.clone()));
    let limit = bucket("api", "1/h burst 10");
    for turn in 0..30 {
        if turn == 15 {
            clock.advance(Duration::from_millis(1));
            incidents.limiter.reset(&limit, "ann").now().unwrap();
        }
        clock.advance(Duration::from_millis(1));
        incidents.limiter.check(Check::new(&limit, "ann")).now().unwrap();
    }
    let text = incidents.text();
    assert!(audit(&text).is_ok(), "{}", audit(&text));
    let reset = text.lines().find(|line| line.contains("\"reset\"")).unwrap();
    let value: serde_json::Value = serde_json::from_str(reset).unwrap();
    let at = &value["at"];
    let gap = format!("{{\"event\":\"gap\",\"lost\":1,\"from_us\":{at},\"until_us\":{at}}}");
    let ending = text.lines().last().unwrap();
    let with = |line: &str, lost: u64| {
        let end = format!("{{\"event\":\"end\",\"entries\":30,\"lost\":{lost}}}");
        text.replace(reset, line).replace(ending, &end)
    };
    assert!(!audit(&with("", 0)).is_ok(), "without a word it is a mistake");
    let findings = audit(&with(&gap, 1));
    assert!(findings.is_ok(), "{findings}");
}

//! One lie in a trace of a correct limiter is found, wherever it stands.

use sluicegate::Cost;
use sluicegate_audit::{Entry, ViolationKind};

use crate::run::{Dice, Run, audit, cases, header};

/// A way to lie, and what it is called; `None` where it cannot be told.
type Lie = (&'static str, ViolationKind, fn(&Entry) -> Option<Entry>);

fn taken(entry: &Entry) -> bool {
    entry.event == sluicegate_audit::Event::Decision && entry.allowed && entry.cost > 0
}

fn refused(entry: &Entry) -> bool {
    entry.event == sluicegate_audit::Event::Decision && !entry.allowed
}

const LIES: [Lie; 9] = [
    ("one over", ViolationKind::OverAdmitted, |entry| {
        let entry = refused(entry).then(|| entry.clone())?;
        Some(Entry { allowed: true, remaining: Some(0), retry_after_us: None, ..entry })
    }),
    ("refused without need", ViolationKind::WrongRefusal, |entry| {
        let entry = taken(entry).then(|| entry.clone())?;
        Some(Entry { allowed: false, delay_us: 0, retry_after_us: Some(1), ..entry })
    }),
    ("one remaining too many", ViolationKind::WrongRemaining, |entry| {
        let remaining = entry.remaining.filter(|_| taken(entry))? + 1;
        Some(Entry { remaining: Some(remaining), ..entry.clone() })
    }),
    ("one remaining too few", ViolationKind::WrongRemaining, |entry| {
        let remaining = entry.remaining.filter(|_| taken(entry))?.checked_sub(1)?;
        Some(Entry { remaining: Some(remaining), ..entry.clone() })
    }),
    ("to retry a microsecond early", ViolationKind::WrongRetryAfter, |entry| {
        let retry = entry.retry_after_us? - 1;
        Some(Entry { retry_after_us: Some(retry), ..entry.clone() })
    }),
    ("to retry a microsecond late", ViolationKind::WrongRetryAfter, |entry| {
        let retry = entry.retry_after_us? + 1;
        Some(Entry { retry_after_us: Some(retry), ..entry.clone() })
    }),
    ("no time to retry", ViolationKind::WrongRetryAfter, |entry| {
        entry.retry_after_us?;
        Some(Entry { retry_after_us: None, ..entry.clone() })
    }),
    ("a time to retry where there is none", ViolationKind::WrongRetryAfter, |entry| {
        let entry = (refused(entry) && entry.retry_after_us.is_none()).then(|| entry.clone())?;
        Some(Entry { retry_after_us: Some(1_000), ..entry })
    }),
    ("delayed a microsecond longer", ViolationKind::WrongDelay, |entry| {
        (entry.delay_us > 0).then(|| Entry { delay_us: entry.delay_us + 1, ..entry.clone() })
    }),
];

#[test]
fn every_lie_is_found_wherever_it_stands() {
    let mut told = [0_u32; LIES.len()];
    for case in cases() {
        let mut run = Run::new();
        run.walk(&case, &mut Dice(3), 240);
        let entries = run.entries;
        for (index, honest) in entries.iter().enumerate() {
            let same = |entry: &&Entry| (entry.at, &entry.key) == (honest.at, &honest.key);
            let alone = entries.iter().filter(same).count() == 1;
            if case.limit.holds() && !alone {
                // In whichever order it all happened, some number may have been true.
                continue;
            }
            for (count, (name, kind, lie)) in told.iter_mut().zip(LIES) {
                let Some(lie) = lie(honest) else { continue };
                let mut entries = entries.clone();
                entries[index] = lie.clone();
                let findings = audit(header(&case.spec), &entries);
                let found = findings.violations.iter().any(|violation| {
                    // What was answered in the same microsecond may be blamed for it.
                    let here = violation.at_us == lie.at && violation.key == lie.key;
                    let exactly = violation.line == index as u64 + 1 && violation.kind == kind;
                    here && (exactly || !alone)
                });
                assert!(found, "{}: {name}, {honest:?}\nas {lie:?}\n{findings}", case.spec);
                *count += 1;
            }
        }
    }
    for ((name, ..), count) in LIES.iter().zip(told) {
        assert!(count > 20, "{name}: told {count} times");
    }
}

/// A limiter that lets two in who looked at the same time hands out one unit too many; what it
/// says afterwards is right for what it wrote down.
#[test]
fn an_update_that_got_lost_is_found_and_not_what_follows() {
    for case in cases().into_iter().filter(|case| !case.limit.holds()) {
        let mut run = Run::new();
        run.walk(&case, &mut Dice(9), 400);
        let mut entries = run.entries;
        let full = |entry: &Entry| taken(entry) && entry.remaining == Some(0) && entry.cost == 1;
        let index = entries.iter().position(full).unwrap();
        entries.insert(index, entries[index].clone());
        let findings = audit(header(&case.spec), &entries);
        assert_eq!(findings.broken, 1, "{}\n{findings}", case.spec);
        assert_eq!(findings.violations[0].kind, ViolationKind::OverAdmitted, "{findings}");
    }
}

/// The same, where the one too many was counted: for a while others are refused for its sake.
#[test]
fn one_too_many_that_was_counted_is_found_and_not_what_follows() {
    for case in cases().into_iter().filter(|case| {
        // A queue would have told it to wait for its turn.
        !case.limit.holds() && case.limit.algorithm() != "queue"
    }) {
        let (mut run, mut dice) = (Run::new(), Dice(9));
        run.walk(&case, &mut dice, 200);
        while run.ask(&case.limit, "ann", 1, None).is_allowed() {}
        run.limiter.charge(&case.limit, "ann", Cost::ONE).now().unwrap();
        let refused = run.entries.last().unwrap().clone();
        run.entries.push(Entry {
            at: refused.at,
            allowed: true,
            remaining: Some(0),
            retry_after_us: None,
            ..refused
        });
        run.advance(1);
        run.ask(&case.limit, "ann", 1, None);
        run.walk(&case, &mut dice, 200);
        let findings = audit(header(&case.spec), &run.entries);
        assert_eq!(findings.broken, 1, "{}\n{findings}", case.spec);
        assert_eq!(findings.violations[0].kind, ViolationKind::OverAdmitted, "{findings}");
    }
}

#[test]
fn an_entry_of_a_rule_that_nobody_named_and_one_far_too_late_are_found() {
    let case = &cases()[0];
    let mut run = Run::new();
    run.walk(case, &mut Dice(9), 400);
    let mut entries = run.entries;
    let unknown = Entry { rule: "other".to_owned(), ..entries[9].clone() };
    entries.push(unknown);
    let findings = audit(header(&case.spec), &entries);
    assert_eq!((findings.broken, findings.violations[0].kind), (1, ViolationKind::UnknownRule));
    entries.pop();
    let last = entries.last().unwrap().clone();
    let peek = |after: u64| Entry { at: last.at + after, cost: 0, remaining: None, ..last.clone() };
    entries.extend((1..=70_000).map(|after| Entry { allowed: true, ..peek(after * 1_000) }));
    entries.push(entries[0].clone());
    let findings = audit(header(&case.spec), &entries);
    assert_eq!((findings.broken, findings.violations[0].kind), (1, ViolationKind::OutOfOrder));
}

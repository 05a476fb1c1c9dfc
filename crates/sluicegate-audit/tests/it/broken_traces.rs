//! A single falsified entry in a correct trace is found, at any position.

use sluicegate::{Algorithm, Cost};
use sluicegate_audit::{TraceEntry, ViolationKind};

use crate::traced_run::{Run, audit, cases, header};
use sluicegate_testkit::Rng;

/// A way to falsify an entry, with its name; `None` where it does not apply.
type Falsification = (&'static str, ViolationKind, fn(&TraceEntry) -> Option<TraceEntry>);

fn taken(entry: &TraceEntry) -> bool {
    entry.event == sluicegate_audit::TraceEvent::Decision && entry.allowed && entry.cost > 0
}

fn refused(entry: &TraceEntry) -> bool {
    entry.event == sluicegate_audit::TraceEvent::Decision && !entry.allowed
}

const LIES: [Falsification; 9] = [
    ("one over", ViolationKind::OverAdmitted, |entry| {
        let entry = refused(entry).then(|| entry.clone())?;
        Some(TraceEntry { allowed: true, remaining: Some(0), retry_after_us: None, ..entry })
    }),
    ("refused without need", ViolationKind::WrongRefusal, |entry| {
        let entry = taken(entry).then(|| entry.clone())?;
        Some(TraceEntry { allowed: false, delay_us: 0, retry_after_us: Some(1), ..entry })
    }),
    ("one remaining too many", ViolationKind::WrongRemaining, |entry| {
        let remaining = entry.remaining.filter(|_| taken(entry))? + 1;
        Some(TraceEntry { remaining: Some(remaining), ..entry.clone() })
    }),
    ("one remaining too few", ViolationKind::WrongRemaining, |entry| {
        let remaining = entry.remaining.filter(|_| taken(entry))?.checked_sub(1)?;
        Some(TraceEntry { remaining: Some(remaining), ..entry.clone() })
    }),
    ("to retry a microsecond early", ViolationKind::WrongRetryAfter, |entry| {
        let retry = entry.retry_after_us? - 1;
        Some(TraceEntry { retry_after_us: Some(retry), ..entry.clone() })
    }),
    ("to retry a microsecond late", ViolationKind::WrongRetryAfter, |entry| {
        let retry = entry.retry_after_us? + 1;
        Some(TraceEntry { retry_after_us: Some(retry), ..entry.clone() })
    }),
    ("no time to retry", ViolationKind::WrongRetryAfter, |entry| {
        entry.retry_after_us?;
        Some(TraceEntry { retry_after_us: None, ..entry.clone() })
    }),
    ("a time to retry where there is none", ViolationKind::WrongRetryAfter, |entry| {
        let entry = (refused(entry) && entry.retry_after_us.is_none()).then(|| entry.clone())?;
        Some(TraceEntry { retry_after_us: Some(1_000), ..entry })
    }),
    ("delayed a microsecond longer", ViolationKind::WrongDelay, |entry| {
        (entry.delay_us > 0).then(|| TraceEntry { delay_us: entry.delay_us + 1, ..entry.clone() })
    }),
];

#[test]
fn every_falsified_entry_is_found_at_any_position() {
    let mut lies_found = [0_u32; LIES.len()];
    for case in cases() {
        let mut run = Run::new();
        run.walk(&case, &mut Rng::new(3), 240);
        let entries = run.entries;
        for (index, honest) in entries.iter().enumerate() {
            let same = |entry: &&TraceEntry| (entry.at, &entry.key) == (honest.at, &honest.key);
            let alone = entries.iter().filter(same).count() == 1;
            if case.limit.holds() && !alone {
                // In some order of the same microsecond the number may have been correct.
                continue;
            }
            for (count, (name, kind, lie)) in lies_found.iter_mut().zip(LIES) {
                let Some(lie) = lie(honest) else { continue };
                let mut entries = entries.clone();
                entries[index] = lie.clone();
                let findings = audit(header(&case.spec), &entries);
                let found = findings.violations.iter().any(|violation| {
                    // Another entry of the same microsecond may be reported instead.
                    let here = violation.at_us == lie.at && violation.key == lie.key;
                    let exactly = violation.line == index as u64 + 1 && violation.kind == kind;
                    here && (exactly || !alone)
                });
                assert!(found, "{}: {name}, {honest:?}\nas {lie:?}\n{findings}", case.spec);
                *count += 1;
            }
        }
    }
    for ((name, ..), count) in LIES.iter().zip(lies_found) {
        assert!(count > 20, "{name}: lies_found {count} times");
    }
}

/// A limiter that admits two concurrent requests for one unit grants one unit too many; its later
/// decisions agree with the lost update.
#[test]
fn a_lost_update_is_found_and_only_once() {
    for case in cases().into_iter().filter(|case| !case.limit.holds()) {
        let mut run = Run::new();
        run.walk(&case, &mut Rng::new(9), 400);
        let mut entries = run.entries;
        let full =
            |entry: &TraceEntry| taken(entry) && entry.remaining == Some(0) && entry.cost == 1;
        // The next decision of the key comes after the extra unit has refilled: an earlier one
        // would be too many as well.
        let apart = |index: usize| {
            let (entry, rest) = (&entries[index], &entries[index + 1..]);
            let next = rest.iter().find(|next| next.key == entry.key);
            next.is_none_or(|next| next.at > entry.at + 2 * case.pulse)
        };
        let index = (0..entries.len()).find(|at| full(&entries[*at]) && apart(*at)).unwrap();
        entries.insert(index, entries[index].clone());
        let findings = audit(header(&case.spec), &entries);
        assert_eq!(findings.broken, 1, "{}\n{findings}", case.spec);
        assert_eq!(findings.violations[0].kind, ViolationKind::OverAdmitted, "{findings}");
    }
}

/// The same, where the extra unit was counted: for a while others are refused because of it.
#[test]
fn a_counted_excess_unit_is_found_and_only_once() {
    for case in cases().into_iter().filter(|case| {
        // A queue would have delayed it.
        !case.limit.holds() && case.limit.spec().algorithm() != Some(Algorithm::Queue)
    }) {
        let (mut run, mut dice) = (Run::new(), Rng::new(9));
        run.walk(&case, &mut dice, 200);
        while run.ask(&case.limit, "ann", 1, None).is_allowed() {}
        run.limiter.charge(&case.limit, "ann", Cost::ONE).now().unwrap();
        let refused = run.entries.last().unwrap().clone();
        run.entries.push(TraceEntry {
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
fn an_entry_of_an_unknown_rule_and_one_far_too_late_are_found() {
    let case = &cases()[0];
    let mut run = Run::new();
    run.walk(case, &mut Rng::new(9), 400);
    let mut entries = run.entries;
    let unknown = TraceEntry { rule: "other".to_owned(), ..entries[9].clone() };
    entries.push(unknown);
    let findings = audit(header(&case.spec), &entries);
    assert_eq!((findings.broken, findings.violations[0].kind), (1, ViolationKind::UnknownRule));
    entries.pop();
    let last = entries.last().unwrap().clone();
    let peek =
        |after: u64| TraceEntry { at: last.at + after, cost: 0, remaining: None, ..last.clone() };
    entries.extend((1..=70_000).map(|after| TraceEntry { allowed: true, ..peek(after * 1_000) }));
    entries.push(entries[0].clone());
    let findings = audit(header(&case.spec), &entries);
    assert_eq!((findings.broken, findings.violations[0].kind), (1, ViolationKind::OutOfOrder));
}

//! Traces of a correct limiter pass, in every format.

use sluicegate_audit::TraceEntry;

use crate::traced_run::{Case, Run, audit, cases, header};
use sluicegate_testkit::Rng;

fn walked(case: &Case, seed: u64, steps: u64) -> Vec<TraceEntry> {
    let mut run = Run::new();
    run.walk(case, &mut Rng::new(seed), steps);
    run.entries
}

#[test]
fn every_algorithm_passes_and_every_number_is_compared() {
    for case in cases() {
        for seed in 1..=6 {
            let entries = walked(&case, seed, 2_000);
            let findings = audit(header(&case.spec), &entries);
            assert!(findings.is_ok(), "{} {seed}\n{findings}", case.spec);
            let rule = &findings.rules[0];
            assert_eq!(rule.decisions, rule.exact, "{findings}");
            assert!(rule.allowed > 100 && rule.refused > 100 && rule.keys == 3, "{findings}");
            let tightest = rule.tightest.as_ref().unwrap();
            assert_eq!(tightest.admitted, tightest.allowed, "{findings}");
        }
    }
}

/// Concurrent writers record their decisions slightly out of order.
#[test]
fn entries_may_come_a_little_out_of_order() {
    for case in cases() {
        let mut entries = walked(&case, 7, 1_500);
        let mut dice = Rng::new(11);
        for start in (0..entries.len() - 20).step_by(10) {
            for index in start..start + 20 {
                let other = start + usize::try_from(dice.below(20)).unwrap();
                entries.swap(index, other);
            }
        }
        let findings = audit(header(&case.spec), &entries);
        assert!(findings.is_ok(), "{}\n{findings}", case.spec);
    }
}

#[test]
fn a_trace_that_begins_in_the_middle_passes_if_it_says_so() {
    let mut strange = 0;
    for case in cases() {
        let entries = walked(&case, 5, 1_000);
        let rest = &entries[300..];
        let mut said = header(&case.spec);
        said.fresh = Some(false);
        let findings = audit(said, rest);
        assert!(findings.is_ok(), "{}\n{findings}", case.spec);
        let rule = &findings.rules[0];
        assert!(rule.exact > 0, "known again at some time: {findings}");
        assert!(rule.within_bounds + rule.skipped > 0, "{findings}");
        strange += u32::from(!audit(header(&case.spec), rest).is_ok());
    }
    assert!(strange > 5, "{strange} look wrong if they are assumed to begin with nothing");
}

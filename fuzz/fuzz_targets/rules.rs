//! Asserts that any bytes are parsed as a rule file without a panic.
//!
//! Diagnostics lie within the text and can be shown; there are rules exactly if there is no error,
//! as many as the file lists; and the same request is always planned to the same checks.
//!
//! Parts separated by a zero byte are files of their own: `main.yaml`, then those it may include.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use sluicegate::{Check, Time};
use sluicegate_rules::{
    AttributeValue, Directory, InMemoryFiles, PlanBuffer, Purpose, Request, RuleFile, RuleSet,
};

/// The other files, by the names that seeds use.
const OTHERS: [&str; 4] = ["other.yaml", "tiers.csv", "tiers.yaml", "key.pem"];

fuzz_target!(|data: &[u8]| {
    let mut parts = data.split(|byte| *byte == 0);
    let mut shelf = InMemoryFiles::new().with("main.yaml", parts.next().unwrap_or_default());
    for (name, part) in OTHERS.into_iter().zip(parts) {
        shelf = shelf.with(name, part);
    }
    let read = || RuleFile::load_with(Path::new("main.yaml"), &shelf, &variable);
    let (Ok(file), Ok(again)) = (read(), read()) else { return };
    assert_report(&file);
    assert_eq!(file.report.diagnostics(), again.report.diagnostics(), "read in two ways");
    if let (Some(rules), Some(again)) = (file.rules, again.rules) {
        assert_plans(&rules, &again);
    }
});

fn variable(name: &str) -> Option<String> {
    (name == "SECRET").then(|| "0123456789abcdef0123456789abcdef".to_owned())
}

fn assert_report(file: &RuleFile) {
    let report = &file.report;
    assert_eq!(file.rules.is_some(), !report.has_errors(), "rules in spite of errors, or none");
    for diagnostic in report.diagnostics() {
        let places = diagnostic.related_places().iter().map(|(span, _)| *span);
        for span in std::iter::once(diagnostic.span()).chain(places) {
            let text = report.sources().text(span.source());
            assert!(
                text.get(span.range()).is_some(),
                "outside of its text: {}",
                diagnostic.message()
            );
        }
        let place = report.locate(diagnostic);
        assert!(place.line >= 1 && place.column >= 1 && place.line <= place.end_line);
        assert!(!diagnostic.message().is_empty());
        assert_ne!(diagnostic.code(), "lost-rule", "a rule got lost");
    }
    let shown = report.render(false);
    assert!(!shown.contains('\u{1b}'), "a control character would reach a terminal");
    assert_eq!(shown.is_empty(), report.diagnostics().is_empty());
}

fn assert_plans(rules: &RuleSet, again: &RuleSet) {
    let headers = [
        ("host", "api.example.com"),
        ("x-user-id", "42"),
        ("X-Api-Key", "k-1"),
        ("cookie", "sid=s; a=b"),
        ("authorization", "Bearer a.b.c"),
        ("x-forwarded-for", "203.0.113.9, 10.0.0.1"),
        ("content-length", "70000"),
    ];
    let attributes = [
        ("user", AttributeValue::Text("ann")),
        ("age", AttributeValue::Real(0.5)),
        ("cost", AttributeValue::Whole(-1)),
    ];
    let plain = Request::new().method("POST").target("/api/v1/x?id=7").headers(&headers);
    let requests = [
        Request::new(),
        plain.peer([10, 0, 0, 1].into()),
        plain.target("/health/..%2Fcheckout;a/%zz/é").attributes(&attributes).cost(3),
        Request::new().attributes(&attributes).cost(0).body_size(u64::MAX),
    ];
    let times = [Time::EPOCH, Time::from_micros(1_793_491_200_000_000), Time::MAX];
    let directory = Directory::new();
    for (request, now) in requests.iter().flat_map(|request| times.map(|now| (request, now))) {
        for purpose in [Purpose::Take, Purpose::Failure(Some(401))] {
            let (mut buffer, mut other) = (PlanBuffer::new(), PlanBuffer::new());
            let planned = rules.plan(&directory, &request.purpose(purpose), now, &mut buffer);
            let same = again.plan(&directory, &request.purpose(purpose), now, &mut other);
            assert_eq!(planned.outcome(), same.outcome());
            let (own, others) = (planned.plan().checks(), same.plan().checks());
            let owed = |check: &Check<'_>| (check.limit().clone(), check.key().to_vec());
            let (own, others) = (own.iter().map(owed), others.iter().map(owed));
            assert!(own.eq(others), "another node plans otherwise");
            for check in 0..planned.plan().checks().len() {
                assert!(planned.rule(check).is_some(), "a check that belongs to no rule");
            }
        }
        assert!(rules.explain(&directory, request, now).to_string().starts_with("request\n"));
    }
    let _ = rules.envelopes();
}

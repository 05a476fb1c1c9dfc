//! Invalid trace files, and several files of one run.

use super::*;

const HEADER: &str = "{\"trace\":1,\"rules\":{\"api\":{\"quota\":\"2/min\"}}}";

fn audit(files: &[(&str, String)]) -> Result<Findings, String> {
    let mut traces = TraceReader::new(TraceHeader::default());
    for (name, text) in files {
        traces.read(name, Box::new(io::Cursor::new(text.clone().into_bytes())));
    }
    traces.audit(LatencyBounds::default()).map_err(|unreadable| unreadable.to_string())
}

fn entry(at: u64, remaining: u64) -> String {
    format!(
        "{{\"at\":{at},\"key\":\"k\",\"rule\":\"api\",\"cost\":1,\"allowed\":true,\
         \"remaining\":{remaining},\"retry_after_us\":null}}"
    )
}

#[test]
fn invalid_lines_are_reported_with_their_number() {
    let cases = [
        ("{", "column 1: EOF while parsing an object"),
        ("[]", "it is no JSON object; a line is as in"),
        ("nonsense", "it is no JSON object"),
        ("{\"at\":-1}", "invalid value: integer `-1`, expected a whole number"),
        ("{\"at\":1.5}", "expected a whole number"),
        ("{\"key\":\"k\",\"rule\":\"api\",\"allowed\":true}", "it has no `at`"),
        ("{\"at\":1,\"rule\":\"api\",\"allowed\":true}", "it has no `key`"),
        ("{\"at\":1,\"key\":\"k\",\"allowed\":true}", "it has no `rule`"),
        ("{\"at\":1,\"key\":\"k\",\"rule\":\"api\"}", "it has no `allowed`"),
        ("{\"at\":1,\"key\":\"k\",\"rule\":\"api\",\"allowed\":1}", "expected a boolean"),
        ("{\"at\":1,\"event\":\"refused\"}", "`refused` is not an event; use `decision`"),
        ("{\"at\":1,\"source\":\"me\"}", "`me` is not a source; use `store`"),
        ("{\"at\":9007199254740993,\"key\":\"\",\"rule\":\"\",\"allowed\":true}", "since 1970"),
        ("{\"at\":1,\"key\":\"k\",\"rule\":\"api\",\"event\":\"release\"}", "name it in `hold`"),
        (
            "{\"at\":1,\"key\":\"k\",\"rule\":\"other\",\"allowed\":true}",
            "the rule `other` is in no header",
        ),
        (HEADER, "a header comes before all entries"),
        ("{\"event\":\"rules\"}", "missing field `rules`"),
        (
            "{\"event\":\"rules\",\"rules\":{\"api\":{\"quota\":\"3/min\"}}}",
            "the rule `api` is `token_bucket 3/min` here and `token_bucket 2/min` elsewhere",
        ),
        ("{\"event\":\"gap\",\"lost\":1,\"from_us\":2,\"until_us\":1}", "`from_us` is not after"),
        ("{\"trace\":2}", "this is version 2 of traces; this program reads version 1"),
        ("{\"event\":\"end\",\"entries\":1,\"lost\":5}", "5 entries were lost at unknown times"),
        ("{\"event\":\"end\",\"entries\":7}", "7 entries were written, and 1 are here"),
    ];
    for (line, words) in cases {
        let text = format!("{HEADER}\n\n{}\n{line}\n", entry(1, 1));
        let error = audit(&[("a.jsonl", text)]).unwrap_err();
        assert!(error.starts_with("cannot read the trace\n  a.jsonl:4: "), "{line}: {error}");
        assert!(error.contains(words), "{line}: {error}");
    }
}

#[test]
fn errors_are_reported_up_to_twenty() {
    let text = format!("{HEADER}\n{{\n{}\n[]\n", entry(1, 1));
    let error = audit(&[("a", text.clone()), ("b", text)]).unwrap_err();
    for place in ["a:2: ", "a:4: ", "b:2: ", "b:4: "] {
        assert!(error.contains(place), "{error}");
    }
    assert!(!error.contains("more"), "{error}");
    let error = audit(&[("a", format!("{HEADER}\n{}", "[]\n".repeat(50)))]).unwrap_err();
    assert_eq!(error.lines().count(), 22, "{error}");
    assert!(error.ends_with("there may be more: reading stopped here"), "{error}");
}

#[test]
fn invalid_headers_are_rejected() {
    let rules = |rules: &str| format!("{{\"trace\":1,\"rules\":{{{rules}}}}}\n");
    let cases = [
        (String::new(), "no header names a rule"),
        (rules(""), "no header names a rule"),
        (rules("\"a\":{}"), "it has no `quota`"),
        (rules("\"a\":{\"quota\":\"7/fortnight\"}"), "`fortnight` is not a unit of time"),
        (rules("\"a\":{\"algorithm\":\"leaky\",\"quota\":\"1/s\"}"), "is not an algorithm"),
        (rules("\"a\":{\"algorithm\":\"sliding_log\",\"quota\":\"9999/s\"}"), "too long"),
        (rules("\"a\":{\"algorithm\":\"concurrency\",\"slots\":2}"), "`slots` and `lease_ms`"),
        (
            "{\"trace\":1,\"outages\":[{\"from_us\":2,\"until_us\":1}]}\n".to_owned(),
            "ends before it begins",
        ),
        (
            "{\"trace\":1,\"state_losses\":[\"now\"]}\n".to_owned(),
            "a time in microseconds, or one from",
        ),
    ];
    for (text, words) in cases {
        let error = audit(&[("a", text.clone())]).unwrap_err();
        assert!(error.contains(words), "{text}: {error}");
    }
    let two = |one: &str, other: &str| {
        let (one, other) = (one.to_owned() + "\n", other.to_owned() + "\n");
        audit(&[("a", one), ("b", other)]).unwrap_err()
    };
    let error = two(HEADER, &HEADER.replace("2/min", "3/min"));
    assert!(error.contains("b:1: the rule `api` is `token_bucket 3/min` here and"), "{error}");
    let nodes = |nodes: u32| format!("{{\"trace\":1,\"nodes\":{nodes}}}");
    let error = two(&nodes(2), &nodes(3));
    assert!(error.contains("b:1: there are 3 nodes here and 2 elsewhere"), "{error}");
}

#[test]
fn files_are_merged_by_time_and_their_headers_added_up() {
    let one = format!("{HEADER}\n{}\n{}\n", entry(1, 1), entry(60_000_000, 0));
    let end = "{\"event\":\"end\",\"entries\":1,\"lost\":0}";
    let other = format!(
        "{{\"trace\":1,\"nodes\":2,\"state_losses\":[7,{{\"from_us\":1,\"until_us\":2}}]}}\n\
         {HEADER}\n{}\n{end}\n",
        entry(30_000_001, 1)
    );
    let header_only = "{\"trace\":1,\"fresh\":true}\n".to_owned();
    let mut traces = TraceReader::new(TraceHeader::default());
    for (name, text) in [("one", &one), ("other", &other), ("header", &header_only)] {
        traces.read(name, Box::new(io::Cursor::new(text.clone().into_bytes())));
    }
    let header = traces.header();
    assert_eq!((header.nodes, header.state_losses.len(), header.fresh), (Some(2), 2, Some(true)));
    let findings =
        audit(&[("one", one), ("other", format!("{HEADER}\n{}\n", entry(30_000_001, 1)))]);
    let findings = findings.unwrap();
    assert!(findings.is_ok(), "{findings}");
    assert_eq!((findings.entries, findings.rules[0].exact), (3, 3));
}

#[test]
fn a_short_file_waits_for_none_of_a_long_one() {
    let peek = |at: u64| entry(at, 2).replace("\"cost\":1", "\"cost\":0") + "\n";
    let long: String = (1..70_000).map(peek).collect();
    let findings = audit(&[("long", format!("{HEADER}\n{long}")), ("short", peek(0))]).unwrap();
    assert!(findings.is_ok(), "{findings}");
}

#[test]
fn a_line_without_end_is_not_read_to_its_end() {
    let error = audit(&[("a", format!("{HEADER}\n{}", "x".repeat(3 << 20)))]).unwrap_err();
    assert!(error.contains("a:2: the line is longer than 1048576 bytes"), "{error}");
}

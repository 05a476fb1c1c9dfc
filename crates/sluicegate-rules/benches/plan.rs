//! Benchmarks of planning, by the number of rules and matches, and of compiling a large file.
//!
//! ```text
//! cargo bench -p sluicegate-rules --bench plan
//! cargo bench -p sluicegate-rules --bench plan -- count CASE TIMES    one case alone, for valgrind
//! ```

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, times, and stops at the first surprise"
)]
#![allow(clippy::cast_precision_loss, reason = "figures for people to read")]

use std::env;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use sluicegate::Time;
use sluicegate_rules::{AttributeValue, Directory, PlanBuffer, Request, RuleSet};

const NOW: Time = Time::from_micros(1_800_000_000_000_000);
const ROUNDS: usize = 30;
const PLANS: usize = 20_000;

/// A rule set, and a request that matches five of its rules.
struct Case {
    name: &'static str,
    rules: fn() -> RuleSet,
}

const CASES: [Case; 6] = [
    Case { name: "5 of 5", rules: || on_paths(5) },
    Case { name: "5 of 100, on distinct paths", rules: || on_paths(100) },
    Case { name: "5 of 1,000, on distinct paths", rules: || on_paths(1_000) },
    Case { name: "5 of 10,000, on distinct paths", rules: || on_paths(10_000) },
    Case { name: "5 of 100, by attribute", rules: || by_attribute(100) },
    Case { name: "5 of 100, one key a secret", rules: || with_secret(100) },
];

const IDENTITIES: &str = "
identify:
  user: { header: x-user-id }
  tenant: { header: x-tenant-id }
  key: { header: x-api-key, secret: true }
";

/// The rules that match every request: by address, by user, by tenant and for all together.
const ANYWHERE: &str = "
rules:
  - { name: per-address, key: ip, limit: 1000/min }
  - { name: per-user, key: user, limit: 100/min }
  - { name: per-tenant, key: tenant, limit: 10000/min }
";

fn on_paths(count: usize) -> RuleSet {
    let mut text = format!("{IDENTITIES}{ANYWHERE}");
    text.push_str(
        "  - { name: search, match: { path: /api/v1/search }, key: user, limit: 10/s }\n",
    );
    text.push_str("  - { name: reads, match: { path: \"/api/v1/**\", method: GET }, key: [tenant, user], limit: 50/s }\n");
    for index in 5..count {
        let _ = writeln!(
            text,
            "  - {{ name: r{index}, match: {{ path: \"/api/v1/resource{index}/{{id}}\" }}, key: user, limit: 10/s }}"
        );
    }
    parsed(&text)
}

fn by_attribute(count: usize) -> RuleSet {
    let mut text = format!("{IDENTITIES}{ANYWHERE}");
    text.push_str(
        "  - { name: gold, match: { attribute: { plan: gold } }, key: user, limit: 10/s }\n",
    );
    text.push_str(
        "  - { name: reads, match: { method: GET }, key: [tenant, user], limit: 50/s }\n",
    );
    for index in 5..count {
        let _ = writeln!(
            text,
            "  - {{ name: r{index}, match: {{ attribute: {{ plan: other{index} }} }}, key: user, limit: 10/s }}"
        );
    }
    parsed(&text)
}

fn with_secret(count: usize) -> RuleSet {
    let mut text = format!("{IDENTITIES}{ANYWHERE}");
    text.push_str("  - { name: search, match: { path: /api/v1/search }, key: key, limit: 10/s }\n");
    text.push_str("  - { name: reads, match: { path: \"/api/v1/**\", method: GET }, key: [tenant, user], limit: 50/s }\n");
    for index in 5..count {
        let _ = writeln!(
            text,
            "  - {{ name: r{index}, match: {{ path: \"/api/v1/resource{index}/{{id}}\" }}, key: key, limit: 10/s }}"
        );
    }
    parsed(&text)
}

fn parsed(text: &str) -> RuleSet {
    RuleSet::parse(text).unwrap()
}

/// Plans `times` requests: the measured function.
#[inline(never)]
fn plan(rules: &RuleSet, times: usize) {
    let headers = [
        ("host", "api.example.com"),
        ("user-agent", "curl/8.5.0"),
        ("accept", "*/*"),
        ("x-user-id", "user-4711"),
        ("x-tenant-id", "tenant-12"),
        ("x-api-key", "sk_live_4eC39HqLyjWDarjtT1zdp7dc"),
    ];
    let attributes = [("plan", AttributeValue::Text("gold"))];
    let directory = Directory::new();
    for _ in 0..times {
        let request = Request::new()
            .method("GET")
            .target("/api/v1/search?q=rust&page=2")
            .peer([203, 0, 113, 9].into())
            .headers(&headers)
            .attributes(&attributes);
        let mut buffer = PlanBuffer::new();
        let planned = rules.plan(&directory, black_box(&request), NOW, &mut buffer);
        assert_eq!(black_box(&planned).plan().checks().len(), 5);
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|text| text != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["cases"] => CASES.iter().for_each(|case| println!("{}", case.name)),
        ["count", case, times] => {
            let case = CASES.iter().find(|one| one.name == case).unwrap();
            plan(&(case.rules)(), times.parse().unwrap());
        }
        _ => compare(),
    }
}

fn compare() {
    println!("| rules met | ns a plan, best of {ROUNDS} rounds |\n|---|---|");
    let cases: Vec<_> = CASES.iter().map(|case| (case.name, (case.rules)())).collect();
    let mut best = vec![f64::MAX; cases.len()];
    for _ in 0..ROUNDS {
        // In turn, so that a noisy moment affects all cases equally.
        for ((_, rules), best) in cases.iter().zip(&mut best) {
            let began = Instant::now();
            plan(rules, PLANS);
            *best = best.min(began.elapsed().as_nanos() as f64 / PLANS as f64);
        }
    }
    for ((name, _), best) in cases.iter().zip(best) {
        println!("| {name} | {best:.0} |");
    }
    let began = Instant::now();
    let rules = on_paths(10_000);
    println!(
        "\nReading and compiling {} rules: {:.0} ms.",
        rules.rules().len(),
        began.elapsed().as_secs_f64() * 1e3
    );
}

//! Numbers that documents quote from the code.

use std::fs;

use super::tree::root;

/// A document and its words, their source and its text: if one changes, so does the other.
const FACTS: &[(&str, &str, &str, &str)] = &[
    (
        "README.md",
        "10 ms",
        "crates/sluicegate-redis/src/options.rs",
        "DEADLINE: Duration = Duration::from_millis(10)",
    ),
    (
        "README.md",
        "0.81 times",
        "docs/benchmarks.md",
        "| allowed | 1 | 30.9 | 20.8 | 12.7 | 38.3 |",
    ),
    ("README.md", "27.3 bytes", "docs/benchmarks.md", "| bytes a key, 1 M / 10 M | 27.3 / 27.8 |"),
    ("docs/memory.md", "27.3 bytes", "docs/benchmarks.md", "1 M / 10 M | 27.3 / 27.8 |"),
    (
        "docs/memory.md",
        "takes 0.3 s and reading them 1.5 s",
        "docs/benchmarks.md",
        "written in 0.3 s, read in 1.5 s",
    ),
    (
        "docs/more-than-one-node.md",
        "10 ms",
        "crates/sluicegate-redis/src/options.rs",
        "DEADLINE: Duration = Duration::from_millis(10)",
    ),
    (
        "docs/more-than-one-node.md",
        "under 30 bytes for each caller",
        "docs/benchmarks.md",
        "| 1,000,000 | 15 | 28.9 | 29 |",
    ),
    (
        "docs/more-than-one-node.md",
        "117 (Valkey) or 167 (Redis)",
        "docs/benchmarks.md",
        "a fixed window takes 167 bytes",
    ),
    ("docs/more-than-one-node.md", "117 (Valkey)", "docs/benchmarks.md", "on Valkey 117,"),
    (
        "docs/http.md",
        "7070",
        "crates/sluicegate-rules/src/file/settings.rs",
        "HTTP_PORT: u16 = 7070",
    ),
    (
        "docs/http.md",
        "more than 64 limits",
        "crates/sluicegate/src/limiter.rs",
        "pub const MAX_CHECKS: usize = 64;",
    ),
    (
        "docs/http.md",
        "string, 1 to 4096 bytes",
        "crates/sluicegate/src/limiter.rs",
        "pub const MAX_KEY: usize = 4_096;",
    ),
    (
        "docs/resp.md",
        "| bytes of a key | 4,096 |",
        "crates/sluicegate/src/limiter.rs",
        "pub const MAX_KEY: usize = 4_096;",
    ),
    (
        "docs/rules.md",
        "| `pages` | 65536 |",
        "crates/sluicegate-redis/src/options.rs",
        "pub const PAGES: u32 = 1 << 16;",
    ),
];

#[test]
fn numbers_in_documents_are_those_of_the_code() {
    for (document, words, file, code) in FACTS {
        let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
        assert!(
            read(document).contains(words),
            "{document} no longer says `{words}`: adapt `FACTS`"
        );
        assert!(
            read(file).contains(code),
            "{file} no longer has `{code}`: change `{words}` in {document} with it"
        );
    }
}

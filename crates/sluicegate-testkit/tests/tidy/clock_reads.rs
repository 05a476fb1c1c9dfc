//! Reads of a clock outside the clock module.

use super::tree::files;

/// `elapsed` reads the clock of its instant.
const READS: [&str; 5] =
    ["Instant::now", "SystemTime::now", "Timestamp::now", "Zoned::now", ".elapsed()"];

/// Files that read a clock, and why a decision cannot depend on it.
const ALLOWED: [(&str, &str); 14] = [
    ("crates/sluicegate/src/clock.rs", "the clock module"),
    ("crates/sluicegate/src/clock/", "the clock module"),
    ("crates/sluicegate-cli/src/bench/", "measures real time"),
    ("crates/sluicegate-harness/src/harness.rs", "ends after a real minute"),
    ("crates/sluicegate-testkit/src/", "drives real servers"),
    ("crates/sluicegate-server/src/http/connection_timer.rs", "timeouts of connections"),
    ("crates/sluicegate-redis/src/store_context.rs", "deadlines of calls to the store"),
    ("crates/sluicegate-redis/src/store.rs", "deadlines of calls to the store"),
    ("crates/sluicegate-redis/src/batcher/", "deadlines of calls to the store"),
    ("crates/sluicegate-redis/src/connection/", "heartbeats and retries of connections"),
    ("crates/sluicegate-redis/src/cluster/refresh.rs", "pace of topology refreshes"),
    ("crates/sluicegate-redis/src/sentinel/watcher.rs", "pace of questions to sentinels"),
    ("crates/sluicegate-redis/src/connectivity.rs", "how long a server is down, for /readyz"),
    ("crates/sluicegate-redis/src/passed_over_warning.rs", "a warning every ten seconds at most"),
];

#[test]
fn only_the_clock_module_reads_a_clock() {
    let mut used = [false; ALLOWED.len()];
    for source in files(&["rs"]).iter().filter(|source| source.is_product()) {
        for (index, line) in source.text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            if !READS.iter().any(|read| code.contains(read)) {
                continue;
            }
            let allowed = ALLOWED.iter().position(|(path, _)| source.path.starts_with(path));
            assert!(
                allowed.is_some(),
                "{}:{}: reads a clock. Time is an argument everywhere else, so that tests can drive \
                 it: take a `Time`, or add the file to `ALLOWED` here with a reason",
                source.path,
                index + 1
            );
            used[allowed.unwrap()] = true;
        }
    }
    for ((path, _), used) in ALLOWED.iter().zip(used) {
        assert!(used, "{path} reads no clock any more: remove it from `ALLOWED`");
    }
}

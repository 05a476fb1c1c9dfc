//! The memory of a caller on the server.

use std::sync::LazyLock;

use sluicegate::{Cooldown, Limit, Slices, Span};
use sluicegate_testkit::ServerKind;

use crate::Scale;
use crate::callers::CALLERS;
use crate::load::BenchOperation;
use crate::setup::BenchServers;
use crate::table::{grouped, head, row};

/// A bucket that takes so long to recover that no entry is dropped meanwhile.
static DAILY: LazyLock<Limit> =
    LazyLock::new(|| Limit::token_bucket("per-user", "10/day".parse().unwrap()).unwrap());

/// Limits whose counters are under keys of their own.
static OTHERS: LazyLock<[(&str, Limit); 4]> = LazyLock::new(|| {
    let quota = "10/day".parse().unwrap();
    let spans = [86_400, 172_800].map(Span::from_secs);
    let cooldown = Cooldown {
        after: 5,
        within: spans[0],
        block: spans[1],
        escalation: None,
        pending: None,
        reset_on_success: false,
    };
    [
        ("fixed window", Limit::fixed_window("fixed", quota)),
        ("sliding window, 10 slices", Limit::sliding_window("sliding", quota, Slices::Strict(10))),
        ("sliding log, 1 admission", Limit::sliding_log("log", quota)),
        ("cooldown, 1 failure", Limit::cooldown("cooldown", cooldown)),
    ]
    .map(|(name, limit)| (name, limit.unwrap()))
});

pub(crate) fn measure(kind: ServerKind, scale: Scale) {
    head(
        &format!("{kind:?}: bytes a caller"),
        &["limit", "callers", "bytes each", "aim", "all, MB"],
    );
    for callers in [CALLERS, 1_000_000, 10_000_000] {
        if callers > scale.callers {
            continue;
        }
        show(kind, "token bucket", BenchOperation::One(&DAILY), callers, "100");
    }
    for (name, limit) in &*OTHERS {
        show(kind, name, BenchOperation::Charged(limit), CALLERS, "");
    }
}

fn show(kind: ServerKind, name: &str, workload: BenchOperation, callers: usize, aim: &str) {
    let ground = BenchServers::new(kind, 2);
    let before = ground.server.used_memory();
    ground.fill(workload, 256, callers);
    let used = ground.server.used_memory() - before;
    row(&[
        name.into(),
        grouped(callers),
        format!("{:.1}", used as f64 / callers as f64),
        aim.into(),
        format!("{:.0}", used as f64 / 1e6),
    ]);
}

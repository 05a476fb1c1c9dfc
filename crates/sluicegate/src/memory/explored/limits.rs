//! The limits that are asked. None recovers within a run, unless its clock is moved.

use std::sync::LazyLock;

use sluicegate_core::Limit;

fn quota(text: &str) -> sluicegate_core::Quota {
    text.parse().unwrap()
}

/// Its state fits a word. Two units.
pub(super) static BUCKET: LazyLock<Limit> =
    LazyLock::new(|| Limit::token_bucket("bucket", quota("2/day")).unwrap());

/// The same, for more.
pub(super) static WIDE: LazyLock<Limit> =
    LazyLock::new(|| Limit::token_bucket("wide", quota("10/day")).unwrap());

/// A unit takes no whole number of microseconds: a record.
pub(super) static FRACTION: LazyLock<Limit> =
    LazyLock::new(|| Limit::token_bucket("fraction", quota("7/day")).unwrap());

/// A record with a heap.
pub(super) static LOG: LazyLock<Limit> =
    LazyLock::new(|| Limit::sliding_log("log", quota("2/day")).unwrap());

/// A record.
pub(super) static WINDOW: LazyLock<Limit> =
    LazyLock::new(|| Limit::fixed_window("window", quota("2/hour")).unwrap());

//! The limits of these tests. None recovers within a run, unless its clock is advanced.

use std::sync::LazyLock;

use sluicegate_core::Limit;

fn quota(text: &str) -> sluicegate_core::Quota {
    text.parse().unwrap()
}

/// A bucket of two units, whose state fits a word.
pub(super) static BUCKET: LazyLock<Limit> =
    LazyLock::new(|| Limit::token_bucket("bucket", quota("2/day")).unwrap());

/// A larger bucket.
pub(super) static WIDE: LazyLock<Limit> =
    LazyLock::new(|| Limit::token_bucket("wide", quota("10/day")).unwrap());

/// A unit takes a fraction of a microsecond, so the state needs a record.
pub(super) static FRACTION: LazyLock<Limit> =
    LazyLock::new(|| Limit::token_bucket("fraction", quota("7/day")).unwrap());

/// A record with heap memory.
pub(super) static LOG: LazyLock<Limit> =
    LazyLock::new(|| Limit::sliding_log("log", quota("2/day")).unwrap());

/// A record without heap memory.
pub(super) static WINDOW: LazyLock<Limit> =
    LazyLock::new(|| Limit::fixed_window("window", quota("2/hour")).unwrap());

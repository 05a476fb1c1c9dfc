//! Random callers.

/// The default number of callers.
pub(crate) const CALLERS: usize = 100_000;

/// The key of a caller; `redis-benchmark` writes numbers in the same way.
pub(crate) fn key(caller: usize) -> String {
    format!("user:{caller:012}")
}

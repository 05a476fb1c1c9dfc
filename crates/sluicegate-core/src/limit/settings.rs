//! The settings of limits that are more than a quota.

use crate::time::Span;

/// How a sliding window counts: in how many slices, and what becomes of the oldest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slices {
    /// The oldest slice counts by its overlap with the window. One slice is the classic
    /// "previous window times overlap plus current"; more follow real traffic more closely.
    Weighted(u32),
    /// The oldest slice counts in full, so no window ever holds more than the amount; ten
    /// slices give up at most a tenth of the rate for it.
    Strict(u32),
}

/// Failures, then a block: the settings of a cooldown.
///
/// ```
/// use sluicegate_core::{Cooldown, Escalation, Limit, Span};
///
/// // Five failures within ten minutes block for fifteen minutes, doubling up to a day.
/// let minutes = |n: u64| Span::from_secs(n * 60);
/// let login = Limit::cooldown("login", Cooldown {
///     after: 5,
///     within: minutes(10),
///     block: minutes(15),
///     escalation: Some(Escalation { factor: 2, max: minutes(24 * 60) }),
///     // An attempt counts as a failure until it is reported, for ten seconds at most.
///     pending: Some(Span::from_secs(10)),
///     reset_on_success: false,
/// })?;
/// # Ok::<(), sluicegate_core::LimitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cooldown {
    /// Failures that lead to a block, up to 1000.
    pub after: u64,
    /// How close together they have to be.
    pub within: Span,
    /// How long the first block lasts.
    pub block: Span,
    /// Whether further blocks last longer.
    pub escalation: Option<Escalation>,
    /// How long an admitted attempt that is not reported counts as a failure.
    ///
    /// Without it a failure counts from its report on, so that any number of attempts made before
    /// the first report are admitted.
    pub pending: Option<Span>,
    /// Whether a reported success clears the failures.
    pub reset_on_success: bool,
}

/// How blocks in a row grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Escalation {
    /// How many times longer each block is than the one before.
    pub factor: u32,
    /// The longest a block gets.
    pub max: Span,
}

//! Settings of the algorithms that need more than a quota.

use crate::time::Span;

/// The slices of a sliding window and the weight of the oldest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slices {
    /// The oldest slice counts by its overlap with the window. One slice is the classic
    /// "previous window times overlap plus current"; more follow real traffic more closely.
    Weighted(u32),
    /// The oldest slice counts in full, so no window ever holds more than the amount; ten
    /// slices give up at most a tenth of the rate for it.
    Strict(u32),
}

/// The settings of a cooldown: failures, then a block.
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
    /// The number of failures that start a block, up to 1000.
    pub after: u64,
    /// The time within which they have to occur.
    pub within: Span,
    /// The length of the first block.
    pub block: Span,
    /// The growth of further blocks.
    pub escalation: Option<Escalation>,
    /// How long an admitted attempt that is not reported counts as a failure.
    ///
    /// Without it a failure counts from its report on, so that any number of attempts made before
    /// the first report are admitted.
    pub pending: Option<Span>,
    /// Whether a reported success clears the failures.
    pub reset_on_success: bool,
}

/// The growth of consecutive blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Escalation {
    /// The factor from one block to the next.
    pub factor: u32,
    /// The longest block.
    pub max: Span,
}

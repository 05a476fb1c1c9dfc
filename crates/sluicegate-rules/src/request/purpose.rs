//! The purpose of a request.

/// The purpose of a request: to take units, or to report and correct what was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// Take the cost of the request.
    #[default]
    Take,
    /// Report a failed request, or how a request ended if there is a status.
    ///
    /// Only cooldowns are charged, and a peek after each charge shows the resulting state.
    Failure(Option<u16>),
    /// Report a successful request; only cooldowns that count successes are checked.
    Success,
    /// Charge the actual cost of a request that has already happened, even beyond the limit.
    Charge,
    /// Refund units without naming the request that took them, up to the units in use.
    Refund,
}

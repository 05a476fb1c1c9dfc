//! The endpoints of the HTTP API.

pub(super) mod authorize;
pub(super) mod check;
pub(super) mod release;
pub(super) mod renew;
pub(super) mod report;
pub(super) mod settle;
pub(super) mod throttle;

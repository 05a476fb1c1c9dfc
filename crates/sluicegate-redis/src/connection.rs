//! Connections to one server: discovery, set-up, supervision and heartbeat.

pub(crate) mod connector;
pub(crate) mod discovery;
pub(crate) mod heartbeat;
pub(crate) mod retry_schedule;
pub(crate) mod supervisor;

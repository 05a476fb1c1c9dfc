//! `GET /openapi.json`: what can be asked and what is answered, for machines.

/// The description, as it is checked in: tests hold every answer against it.
pub(super) const TEXT: &str = include_str!("../../../../docs/openapi.json");

//! `GET /openapi.json`: the `OpenAPI` description of the HTTP API.

/// The description as it is checked in; tests validate every response against it.
pub(super) const TEXT: &str = include_str!("../../openapi.json");

//! A YAML tree with source spans, diagnostics, and validation against tables.
//!
//! [`parse`] reads a text into a [`Node`] with the span of every value. [`validate`] compares it
//! with a [`ValueKind`], a table from which [`json_schema`] also makes the JSON schema for editors.
//! Every mistake becomes a [`Diagnostic`]; a [`Report`] shows all of them, as a compiler does.

#![forbid(unsafe_code)]

mod builder;
mod diagnostics;
mod node;
mod parse;
mod schema;
mod syntax_error;
mod variables;

pub use self::diagnostics::{
    Diagnostic, Diagnostics, Location, Report, Severity, SourceId, SourceMap, SourceSpan,
    Suggester, closest, printable, shortened,
};
pub use self::node::{MapEntry, MapKey, Node, Scalar, Value};
pub use self::parse::{Environment, parse};
pub use self::schema::{Field, FreeFields, Hint, Object, ValueKind, json_schema, validate};

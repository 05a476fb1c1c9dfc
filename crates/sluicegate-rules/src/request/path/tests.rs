//! Tests of paths, patterns and the router.

mod captures;
mod generators;
mod near_misses;
mod patterns;
mod readings;
mod refusals;
mod routing;
mod spellings;

use super::{Folding, Paths, Pattern};

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Whether any reading of a request target matches a pattern.
fn meets(target: &[u8], pattern: &Pattern) -> bool {
    Paths::of(target, Folding::new(false)).readings().any(|path| pattern.matches(path))
}

fn normal(target: &[u8]) -> Vec<u8> {
    Paths::of(target, Folding::new(false)).main().to_vec()
}

/// Bytes as text for messages.
fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

//! A router that finds the patterns that match a path.

mod hasher;

use std::collections::HashMap;

use self::hasher::Hashing;
use super::pattern::Pattern;
use super::segment::{PatternSegment, Steps, align};

/// Patterns arranged as a tree of their segments, each with a value.
#[derive(Debug)]
pub(crate) struct Router<T> {
    root: RouterNode<T>,
}

#[derive(Debug)]
struct RouterNode<T> {
    /// The children for a segment of plain text.
    literal: HashMap<Box<[u8]>, RouterNode<T>, Hashing>,
    /// The child for any segment.
    any: Option<Box<RouterNode<T>>>,
    /// Values of the patterns that end here.
    here: Vec<T>,
    /// Values of the patterns that end here with `**`.
    here_and_below: Vec<T>,
    /// Patterns that continue with stars in a segment, or with segments after a `**`.
    unsorted: Vec<(Box<[PatternSegment]>, T)>,
}

impl<T: Copy> Router<T> {
    /// Creates a router. Equal patterns are kept separately, each with its own value.
    pub(crate) fn new(pairs: impl IntoIterator<Item = (Pattern, T)>) -> Self {
        let mut root = RouterNode::default();
        for (pattern, value) in pairs {
            root.add(pattern.segments(), value);
        }
        Self { root }
    }

    /// Calls `found` once for each pair whose pattern matches the path, in no particular order.
    pub(crate) fn matching(&self, path: &[u8], mut found: impl FnMut(T)) {
        match Steps::of(path) {
            Some(steps) => self.root.visit(steps, &mut found),
            // Not a path: only `/**` matches it.
            None => self.root.here_and_below.iter().copied().for_each(found),
        }
    }
}

impl<T: Copy> RouterNode<T> {
    fn add(&mut self, segments: &[PatternSegment], value: T) {
        match segments {
            [] => self.here.push(value),
            [PatternSegment::Gap] => self.here_and_below.push(value),
            [PatternSegment::Literal(text), behind @ ..] => {
                self.literal.entry(text.clone()).or_default().add(behind, value);
            }
            [PatternSegment::Any(_), behind @ ..] => {
                self.any.get_or_insert_default().add(behind, value);
            }
            [PatternSegment::Glob(_) | PatternSegment::Gap, ..] => {
                self.unsorted.push((segments.into(), value));
            }
        }
    }

    /// Visits the matching patterns; the longest pattern bounds the depth of the recursion.
    fn visit(&self, mut steps: Steps<'_>, found: &mut impl FnMut(T)) {
        self.here_and_below.iter().copied().for_each(&mut *found);
        for (segments, value) in &self.unsorted {
            if align(segments, steps.clone(), |_, _| ()) {
                found(*value);
            }
        }
        let Some(step) = steps.next() else {
            self.here.iter().copied().for_each(found);
            return;
        };
        if let Some(node) = self.literal.get(step) {
            node.visit(steps.clone(), found);
        }
        if let Some(node) = &self.any {
            node.visit(steps, found);
        }
    }
}

impl<T> Default for RouterNode<T> {
    fn default() -> Self {
        Self {
            literal: HashMap::default(),
            any: None,
            here: Vec::new(),
            here_and_below: Vec::new(),
            unsorted: Vec::new(),
        }
    }
}

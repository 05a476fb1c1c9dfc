//! Values that stand in many places: lengths of time, amounts, zones, moments, names.

use sluicegate::{Span as Length, Time};

use super::{Compiler, said};
use crate::address::networks::{Entry, Networks};
use crate::calendar::{Zone, Zoned};
use crate::directory::During;
use crate::instant;
use crate::node::Node;

impl Compiler<'_> {
    /// A length of time that is not zero.
    pub(super) fn length(&mut self, node: &Node) -> Option<Length> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        match crate::amount::parse_length(scalar.text()) {
            Ok(length) if length.is_zero() => {
                self.error(node, "bad-length", "a length of time of 0 has no effect")
                    .help("leave it out, or use at least `1ms`");
                None
            }
            Ok(length) => Some(length),
            Err(reason) => {
                let message = format!("cannot read `{}`: {reason}", scalar.shown());
                self.error(node, "bad-length", message);
                None
            }
        }
    }

    /// An amount of memory.
    pub(super) fn bytes(&mut self, node: &Node) -> Option<u64> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let bytes = crate::amount::parse_bytes(scalar.text());
        bytes
            .map_err(|reason| {
                let message = format!("cannot read `{}`: {reason}", scalar.shown());
                self.error(node, "bad-amount", message);
            })
            .ok()
    }

    /// The name of a time zone that there is.
    pub(super) fn zone_name(&mut self, node: &Node) -> Option<Box<str>> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        match Zoned::named(scalar.text()) {
            Ok(_) => Some(scalar.text().into()),
            Err(error) => {
                self.error(node, "unknown-zone", said(scalar, &error, "a time zone"));
                None
            }
        }
    }

    /// When something begins and ends.
    pub(super) fn during(&mut self, node: &Node) -> During {
        let from = node.get("from").and_then(|from| self.moment(from));
        let until = node.get("until").and_then(|until| self.moment(until));
        if let (Some(begins), Some(ends), Some(at)) = (from, until, node.get("until"))
            && ends <= begins
        {
            self.error(at, "empty-time", "it ends before it begins")
                .help("put `until` after `from`");
        }
        During { from, until }
    }

    fn moment(&mut self, node: &Node) -> Option<Time> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let zone = self.file_zone();
        match instant::parse(scalar.text(), &zone) {
            Ok(time) => Some(time),
            Err(error) => {
                self.error(node, "bad-moment", said(scalar, &error, "a moment"));
                None
            }
        }
    }

    /// The time zone of what names none.
    pub(super) fn file_zone(&self) -> Zone {
        self.zone.as_ref().and_then(|zone| Zone::named(zone).ok()).unwrap_or(Zone::UTC)
    }

    /// Networks and addresses.
    pub(super) fn networks_of(&mut self, node: &Node) -> Networks {
        let mut entries = Vec::new();
        for item in node.items() {
            let Some(scalar) = item.scalar().filter(|scalar| !scalar.is_broken()) else { continue };
            match scalar.text().parse::<Entry>() {
                Ok(entry) => entries.push(entry),
                Err(error) => {
                    _ = self.error(
                        item,
                        "bad-network",
                        said(scalar, &error, "a network or address"),
                    );
                }
            }
        }
        entries.into_iter().collect()
    }

    /// The name of a header, in lower case.
    pub(super) fn header_name(&mut self, node: &Node) -> Option<Box<str>> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        self.header_named(scalar.text(), node.span)
    }

    /// The same for a name that stands before a colon.
    pub(super) fn header_named(
        &mut self,
        name: &str,
        span: crate::source::Span,
    ) -> Option<Box<str>> {
        let token =
            |letter: u8| letter.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&letter);
        if name.is_empty() || !name.bytes().all(token) {
            self.error_at(span, "bad-header", "this cannot be the name of a header")
                .help("use letters, digits and dashes, as in `x-api-key`");
            return None;
        }
        Some(name.to_ascii_lowercase().into())
    }
}

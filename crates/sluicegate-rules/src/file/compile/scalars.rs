//! Values of many fields: durations, sizes, time zones, timestamps, networks, names.

use sluicegate::{Span as Length, Time};

use super::{Compiler, error_text};
use crate::calendar::{Zone, ZonedCalendar};
use crate::directory::TimeRange;
use crate::file::timestamp;
use crate::request::address::networks::{NetworkEntry, Networks};
use sluicegate_yaml::Node;

impl Compiler<'_> {
    /// Reads a duration that is not zero.
    pub(super) fn length(&mut self, node: &Node) -> Option<Length> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        match crate::file::units::parse_length(scalar.text()) {
            Ok(length) if length.is_zero() => {
                self.error(node, "bad-length", "a duration of 0 has no effect")
                    .help("remove it, or use at least `1ms`");
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

    /// Reads an amount of memory.
    pub(super) fn bytes(&mut self, node: &Node) -> Option<u64> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let bytes = crate::file::units::parse_bytes(scalar.text());
        bytes
            .map_err(|reason| {
                let message = format!("cannot read `{}`: {reason}", scalar.shown());
                self.error(node, "bad-amount", message);
            })
            .ok()
    }

    /// Reads the name of a known time zone.
    pub(super) fn zone_name(&mut self, node: &Node) -> Option<Box<str>> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        match ZonedCalendar::named(scalar.text()) {
            Ok(_) => Some(scalar.text().into()),
            Err(error) => {
                self.error(node, "unknown-zone", error_text(scalar, &error, "a time zone"));
                None
            }
        }
    }

    /// Reads `from` and `until`.
    pub(super) fn during(&mut self, node: &Node) -> TimeRange {
        let from = node.get("from").and_then(|from| self.moment(from));
        let until = node.get("until").and_then(|until| self.moment(until));
        if let (Some(begins), Some(ends), Some(at)) = (from, until, node.get("until"))
            && ends <= begins
        {
            self.error(at, "empty-time", "the end is not after the start")
                .help("use an `until` after `from`");
        }
        TimeRange { from, until }
    }

    fn moment(&mut self, node: &Node) -> Option<Time> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let zone = self.file_zone();
        match timestamp::parse(scalar.text(), &zone) {
            Ok(time) => Some(time),
            Err(error) => {
                self.error(node, "bad-moment", error_text(scalar, &error, "a date and time"));
                None
            }
        }
    }

    /// Returns the time zone of the file; UTC if it has none.
    pub(super) fn file_zone(&self) -> Zone {
        self.zone.as_ref().and_then(|zone| Zone::named(zone).ok()).unwrap_or(Zone::UTC)
    }

    /// Reads networks and addresses.
    pub(super) fn networks_of(&mut self, node: &Node) -> Networks {
        let mut entries = Vec::new();
        for item in node.items() {
            let Some(scalar) = item.scalar().filter(|scalar| !scalar.is_broken()) else { continue };
            match scalar.text().parse::<NetworkEntry>() {
                Ok(entry) => entries.push(entry),
                Err(error) => {
                    _ = self.error(
                        item,
                        "bad-network",
                        error_text(scalar, &error, "a network or address"),
                    );
                }
            }
        }
        entries.into_iter().collect()
    }

    /// Reads the name of a header, in lower case.
    pub(super) fn header_name(&mut self, node: &Node) -> Option<Box<str>> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        self.header_named(scalar.text(), node.span)
    }

    /// Checks the name of a header that is the key of an entry.
    pub(super) fn header_named(
        &mut self,
        name: &str,
        span: sluicegate_yaml::SourceSpan,
    ) -> Option<Box<str>> {
        let token =
            |letter: u8| letter.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&letter);
        if name.is_empty() || !name.bytes().all(token) {
            self.error_at(span, "bad-header", "this is not a valid name for a header")
                .help("use letters, digits and dashes, as in `x-api-key`");
            return None;
        }
        Some(name.to_ascii_lowercase().into())
    }
}

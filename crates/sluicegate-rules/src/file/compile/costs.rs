//! `cost`: the cost of requests.

use sluicegate::Cost;

use super::Compiler;
use crate::rule_set::costs::{CostSource, Costs, Endpoint};
use sluicegate_yaml::{MapEntry, Node};

const FIELDS: [&str; 5] = ["default", "max", "header", "attribute", "body"];

impl Compiler<'_> {
    pub(super) fn costs(&mut self, node: &Node) -> Costs {
        if let Some(units) = node.whole() {
            return Costs { default: self.units(node, units), ..Costs::default() };
        }
        let mut costs = Costs {
            default: node.get("default").and_then(|node| self.units(node, node.whole()?)),
            max: node.get("max").and_then(|node| self.units(node, node.whole()?)),
            ..Costs::default()
        };
        let measures: Vec<&MapEntry> =
            ["header", "attribute", "body"].iter().filter_map(|field| node.entry(field)).collect();
        match measures.as_slice() {
            [] => {}
            [one] => costs.measure = self.measure(one),
            [first, second, ..] => {
                self.error_at(second.key.span, "two-measures", "the cost has two sources")
                    .related(first.key.span, "the other source")
                    .help("keep one of them, or write two rules");
            }
        }
        if let (Some(CostSource::Header(_)), None) = (&costs.measure, costs.max)
            && let Some(entry) = node.entry("header")
        {
            self.warn_at(
                entry.key.span,
                "unbounded-cost",
                "the sender of a request sets its cost, without an upper bound",
            )
            .help("set `max`, as in `cost: { header: x-cost, max: 100 }`");
        }
        let endpoints =
            node.entries().iter().filter(|entry| !FIELDS.contains(&entry.key.text.as_str()));
        for entry in endpoints {
            costs.endpoints.extend(self.endpoint(entry));
        }
        costs
    }

    fn endpoint(&mut self, entry: &MapEntry) -> Option<Endpoint> {
        let cost = self.units(&entry.value, entry.value.whole()?)?;
        let text = entry.key.text.trim();
        let (method, path) = match text.split_once(char::is_whitespace) {
            Some((method, path)) => (Some(method), Some(path.trim_start())),
            None if text.starts_with('/') => (None, Some(text)),
            None => (Some(text), None),
        };
        let path = match path {
            Some(path) => Some(self.pattern_in(path, entry.key.span, None)?),
            None => None,
        };
        Some(Endpoint { method: method.map(Into::into), path, cost })
    }

    fn measure(&mut self, entry: &MapEntry) -> Option<CostSource> {
        let node = &entry.value;
        match entry.key.text.as_str() {
            "header" => self.header_name(node).map(CostSource::Header),
            "attribute" => node.text().map(|name| CostSource::Attribute(name.into())),
            _ => self.body_measure(node),
        }
    }

    fn body_measure(&mut self, node: &Node) -> Option<CostSource> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let parts = scalar.text().split_once(" per ");
        let units = parts
            .and_then(|(units, _)| units.trim().parse::<u64>().ok())
            .filter(|units| *units > 0);
        let bytes = parts
            .and_then(|(_, bytes)| crate::file::units::parse_bytes(bytes).ok())
            .filter(|bytes| *bytes > 0);
        if let (Some(units), Some(bytes)) = (units, bytes) {
            return Some(CostSource::Body { units, bytes });
        }
        let message = format!("cannot read `{}` as units per size", scalar.shown());
        self.error(node, "bad-cost", message).help("write it as in `1 per 64KiB`");
        None
    }

    /// Checks that a cost can be charged.
    fn units(&mut self, node: &Node, units: u64) -> Option<u64> {
        if units == 0 {
            self.error(node, "bad-cost", "a request with a cost of 0 is never limited")
                .help("use at least 1, or exclude the endpoint with `match: { not: … }`");
            return None;
        }
        match Cost::new(units) {
            Ok(cost) => Some(cost.units()),
            Err(error) => {
                self.error(node, "bad-cost", error.to_string());
                None
            }
        }
    }
}

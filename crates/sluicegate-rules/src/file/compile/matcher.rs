//! `match`: the requests that a rule applies to.

use super::{Compiler, error_text, hidden_text};
use crate::calendar::Zone;
use crate::matching::condition::Condition;
use crate::matching::matcher::Matcher;
use crate::matching::schedule::{Days, Minute, ScheduleError, WeeklyHours};
use crate::request::host::HostPattern;
use crate::request::identity::IdentitySource;
use sluicegate_yaml::{MapEntry, Node, Scalar, Value};

impl Compiler<'_> {
    pub(super) fn matcher(&mut self, node: &Node) -> Matcher {
        let mut matcher = Matcher::default();
        for entry in node.entries() {
            let value = &entry.value;
            if let "host" | "path" = entry.key.text.as_str() {
                let mut scalars = value.items().iter().filter_map(Node::scalar);
                matcher.is_from_environment |= scalars.any(Scalar::is_secret);
            }
            match entry.key.text.as_str() {
                "method" => {
                    matcher.methods =
                        value.items().iter().filter_map(|item| self.method(item)).collect();
                }
                "host" => {
                    matcher.hosts =
                        value.items().iter().filter_map(|item| self.host(item)).collect();
                }
                "path" => {
                    matcher.paths =
                        value.items().iter().filter_map(|item| self.pattern(item)).collect();
                }
                "header" => matcher.headers = self.header_conditions(value),
                "attribute" => matcher.attributes.extend(self.attribute_conditions(value)),
                "domain" => {
                    let condition = self.condition_of("domain", value);
                    matcher.attributes.extend(condition.map(|is| ("domain".into(), is)));
                }
                "descriptor" => {
                    matcher.attributes.extend(self.attribute_conditions(value));
                    matcher.entries = Some(self.descriptor_entries(value));
                }
                "identity" => matcher.identities = self.identity_conditions(value),
                "tier" => {
                    let tiers: Vec<_> =
                        value.items().iter().filter_map(|item| self.tier(item)).collect();
                    matcher.tiers = Some(tiers);
                }
                "ip" => {
                    let networks = self.networks_of(value);
                    matcher.addresses =
                        self.identity("ip", entry.key.span).map(|ip| (ip, networks));
                }
                "time" => {
                    matcher.times =
                        value.items().iter().filter_map(|item| self.daytime(item)).collect();
                }
                "not" => {
                    for item in value.items() {
                        let not = self.matcher(item);
                        if item.entries().is_empty() {
                            self.error(
                                item,
                                "never-matches",
                                "an empty `not` excludes every request",
                            )
                            .help("add the conditions of the requests to exclude, or remove it");
                        }
                        matcher.not.push(not);
                    }
                }
                _ => {}
            }
            let is_empty = match &value.value {
                Value::List(items) => items.is_empty(),
                // A time of day without bounds is any time.
                Value::Map(entries) => {
                    entries.is_empty() && !["not", "time"].contains(&entry.key.text.as_str())
                }
                Value::Null => true,
                Value::Scalar(_) => false,
            };
            if is_empty {
                let message = format!("`{}` has no value, so no request matches", entry.key.text);
                self.error(value, "never-matches", message).help("add a value, or remove it");
            }
        }
        matcher
    }

    fn method(&mut self, node: &Node) -> Option<Box<str>> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let text = scalar.text();
        if text.is_empty()
            || !text.bytes().all(|letter| letter.is_ascii_alphabetic() || letter == b'-')
        {
            let help = if text.contains(',') {
                "write a list, as in `[GET, POST]`"
            } else {
                "use a method such as `POST`"
            };
            self.error(node, "bad-method", format!("`{}` is not a method", scalar.shown()))
                .help(help);
            return None;
        }
        Some(text.to_ascii_uppercase().into())
    }

    fn host(&mut self, node: &Node) -> Option<HostPattern> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        match HostPattern::parse(scalar.text()) {
            Ok(pattern) => Some(pattern),
            Err(_) if scalar.is_secret() => {
                self.error(node, "bad-host", hidden_text(scalar, "a host"))
                    .help("use a host such as `api.example.com`");
                None
            }
            Err(error) => {
                let span = self.sources.within(node.span, scalar.text(), error.range);
                self.error_at(span, "bad-host", error.message).help(error.help);
                None
            }
        }
    }

    fn header_conditions(&mut self, node: &Node) -> Vec<(Box<str>, Condition)> {
        let mut conditions = Vec::new();
        for entry in node.entries() {
            let name = self.header_named(&entry.key.text, entry.key.span);
            let condition = self.condition_of(&entry.key.text, &entry.value);
            conditions.extend(name.zip(condition));
        }
        conditions
    }

    fn attribute_conditions(&mut self, node: &Node) -> Vec<(Box<str>, Condition)> {
        let mut conditions = Vec::new();
        for entry in node.entries() {
            let condition = self.condition_of(&entry.key.text, &entry.value);
            conditions
                .extend(condition.map(|condition| (entry.key.text.as_str().into(), condition)));
        }
        conditions
    }

    /// Reads the names of the entries that a descriptor has to have.
    fn descriptor_entries(&mut self, node: &Node) -> Vec<Box<str>> {
        let mut names: Vec<Box<str>> = Vec::new();
        for MapEntry { key, value } in node.entries() {
            names.push(key.text.as_str().into());
            if key.text == "domain" {
                let message = "`domain` is not an entry of the descriptor";
                self.error_at(key.span, "never-matches", message)
                    .help("write it beside `descriptor`, as in `match: { domain: edge, descriptor: { … } }`");
            }
            if value.get("present").and_then(Node::flag) == Some(false) {
                let message = format!("the entry `{}` has to be present and absent", key.shown());
                self.error(value, "never-matches", message).help(
                    "remove the entry: a descriptor with other entries than these does not match",
                );
            }
        }
        names.sort_unstable();
        names
    }

    fn identity_conditions(&mut self, node: &Node) -> Vec<(usize, Condition)> {
        let mut conditions = Vec::new();
        for entry in node.entries() {
            let Some(identity) = self.identity(&entry.key.text, entry.key.span) else { continue };
            let known = &self.identities[identity];
            if known.secret || matches!(known.source, IdentitySource::Fingerprint(_)) {
                let message =
                    format!("`{}` is secret, and its digest cannot be compared", entry.key.shown());
                self.error_at(entry.key.span, "secret-condition", message)
                    .help("use a list of callers or a tier instead");
                continue;
            }
            let condition = self.condition_of(&entry.key.text, &entry.value);
            conditions.extend(condition.map(|condition| (identity, condition)));
        }
        conditions
    }

    fn daytime(&mut self, node: &Node) -> Option<WeeklyHours> {
        let zone = match node.get("timezone") {
            Some(zone) => self.zone_name(zone).and_then(|zone| Zone::named(&zone).ok())?,
            None => self.file_zone(),
        };
        let from = self.minute(node, "from", Minute::MIDNIGHT, Minute::parse_from)?;
        let to = self.minute(node, "to", Minute::END_OF_DAY, Minute::parse_to)?;
        let mut days = Days::NONE;
        for item in node.get("days").map(Node::items).unwrap_or_default() {
            let scalar = item.scalar().filter(|scalar| !scalar.is_broken())?;
            match Days::parse(scalar.text()) {
                Ok(more) => days = days.and(more),
                Err(error) => {
                    self.error(item, "bad-time", error_text(scalar, &error, "a day of the week"));
                    return None;
                }
            }
        }
        let days = if node.get("days").is_some() { days } else { Days::ALL };
        let daytime = WeeklyHours::new(days, from, to, zone);
        if daytime.is_empty() {
            self.error(node, "never-matches", "this period is empty")
                .help("use a `to` that differs from `from`, and at least one day");
            return None;
        }
        Some(daytime)
    }

    fn minute(
        &mut self,
        node: &Node,
        field: &str,
        default: Minute,
        parse: fn(&str) -> Result<Minute, ScheduleError>,
    ) -> Option<Minute> {
        let Some(node) = node.get(field) else { return Some(default) };
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        match parse(scalar.text()) {
            Ok(minute) => Some(minute),
            Err(error) => {
                self.error(node, "bad-time", error_text(scalar, &error, "a time of day"));
                None
            }
        }
    }
}

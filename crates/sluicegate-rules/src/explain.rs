//! Why each rule did or did not apply to a request, in words.

use std::fmt::{self, Write as _};

use sluicegate::{Outage, Scope, Time};

use crate::directory::{Directory, Listing};
use crate::envelope;
use crate::facts::Facts;
use crate::identity::{Identified, Source};
use crate::keys::Keys;
use crate::limits::Windows;
use crate::planning::{Chosen, Keyed, key_of, listing};
use crate::request::Request;
use crate::rule::{Mode, Rule};
use crate::ruleset::RuleSet;

/// Why each rule did or did not apply to a request.
///
/// Its text shows no secret: what is secret is masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation(String);

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl RuleSet {
    /// Explains what a request owes at `now`, rule by rule.
    pub fn explain<'p>(
        &'p self,
        directory: &'p Directory,
        request: &Request<'p>,
        now: Time,
    ) -> Explanation {
        let mut facts = Facts::of(self, directory, *request, now);
        let mut out = String::new();
        write_request(&mut facts, &mut out);
        self.write_identities(&mut facts, &mut out);
        out.push_str("rules\n");
        match listing(self, &mut facts) {
            Some(Listing::Block) => {
                out.push_str("  none is asked: the caller is on the block-list and is refused\n");
            }
            Some(Listing::Allow) => {
                out.push_str("  none is asked: the caller is on the allow-list\n");
            }
            None if self.rules.is_empty() => out.push_str("  there are none\n"),
            None => {
                for rule in &self.rules {
                    self.write_rule(rule, &mut facts, &mut out);
                }
            }
        }
        Explanation(out)
    }

    fn write_identities(&self, facts: &mut Facts<'_>, out: &mut String) {
        out.push_str("identities\n");
        let tier = self.tiers.as_ref().and_then(|tiers| tiers.identity);
        for index in (0..self.identities.len()).filter(|index| Some(*index) != tier) {
            let found = shown(facts, index);
            let how = self.how(index, facts);
            let _ = writeln!(out, "  {} = {found}  ({how})", self.identities[index].name);
        }
        if let (Some(tiers), Some(tier)) = (&self.tiers, facts.tier()) {
            let default = if tier == tiers.default { "  (the default, or told so)" } else { "" };
            let _ = writeln!(out, "  tier = {}{default}", tiers.name(tier));
        }
    }

    /// Where an identity was looked for.
    fn how(&self, index: usize, facts: &mut Facts<'_>) -> String {
        let identity = &self.identities[index];
        if facts.attribute(&identity.name).is_some() {
            return format!("from the attribute `{}`", identity.name);
        }
        match &identity.source {
            Source::Attribute(name) => format!("from the attribute `{name}`"),
            Source::Header(name) => format!("from the header `{name}`"),
            Source::Cookie(name) => format!("from the cookie `{name}`"),
            Source::Query(name) => format!("from the query parameter `{name}`"),
            Source::Path { pattern, .. } => format!("from the path, as in {pattern}"),
            Source::Segment(number) => format!("segment {number} of the path"),
            Source::Method => "the method".to_owned(),
            Source::Host => "the host".to_owned(),
            Source::Address { proxies, .. } => match facts.client(proxies) {
                Some(client) => client.found.to_string(),
                None => "no address is known".to_owned(),
            },
            Source::Claim { token, claim } => self.how_claimed(*token, claim, facts),
            Source::Fingerprint(names) => format!("from the headers {}", names.join(", ")),
        }
    }

    #[cfg(feature = "jwt")]
    #[allow(clippy::unused_self, reason = "the same shape without tokens")]
    fn how_claimed(&self, token: usize, claim: &str, facts: &mut Facts<'_>) -> String {
        match facts.claims(token) {
            Some(Err(rejected)) => format!("the claim `{claim}` of a token: {rejected}"),
            _ => format!("the claim `{claim}` of a token"),
        }
    }

    #[cfg(not(feature = "jwt"))]
    #[allow(clippy::unused_self, reason = "the same shape with tokens")]
    fn how_claimed(&self, _token: usize, claim: &str, _facts: &mut Facts<'_>) -> String {
        format!("the claim `{claim}` of a token")
    }

    fn write_rule<'p>(&'p self, rule: &'p Rule, facts: &mut Facts<'p>, out: &mut String) {
        if let Err(why) = rule.matcher.check(facts) {
            let _ = writeln!(
                out,
                "  - {}: does not apply: {}",
                rule.name,
                why.explain(&rule.matcher, facts)
            );
            return;
        }
        match key_of(rule, facts, &mut Keys::default()) {
            Keyed::Skip => {
                let _ = writeln!(
                    out,
                    "  - {}: does not apply: it is skipped for those who do not say who they are",
                    rule.name
                );
                return;
            }
            Keyed::Missing(identity) if rule.mode == Mode::Shadow => {
                let name = &self.identities[identity].name;
                let _ = writeln!(
                    out,
                    "  - {}: does not apply: `{name}` is missing, and a shadow refuses nobody",
                    rule.name
                );
                return;
            }
            Keyed::Missing(identity) => {
                let name = &self.identities[identity].name;
                let _ = writeln!(out, "  x {}: refuses with 401: `{name}` is missing", rule.name);
                return;
            }
            Keyed::At(_) => {}
        }
        let shadow =
            if rule.mode == Mode::Shadow { " in shadow: it counts and never blocks" } else { "" };
        let _ = writeln!(out, "  + {}: applies{shadow}", rule.name);
        let key: Vec<String> = rule
            .key
            .iter()
            .map(|index| format!("{}={}", self.identities[*index].name, shown(facts, *index)))
            .collect();
        let key =
            if key.is_empty() { "one counter for everybody".to_owned() } else { key.join(" ") };
        let _ = writeln!(out, "      key   {key}");
        if let Some(counted) = counted(rule) {
            let _ = writeln!(out, "      count {counted}");
        }
        self.write_owed(rule, facts, out);
    }

    fn write_owed<'p>(&'p self, rule: &'p Rule, facts: &mut Facts<'p>, out: &mut String) {
        if let Some(cooldown) = &rule.cooldown {
            let after = cooldown.limit.capacity();
            let owes = if cooldown.limit.uses_up() {
                format!("1 of {after} attempts and failures, until it is reported")
            } else {
                format!("nothing, unless blocked after {after} failures")
            };
            let _ = writeln!(out, "      owes  {owes}");
        }
        let (cost, chosen) = (rule.costs.of(facts), Chosen::of(rule, facts));
        let why = match (&chosen, &self.tiers) {
            (Chosen::Caller(_), _) => ", by an override for this caller".to_owned(),
            (Chosen::Override(_), _) => ", by an override of the rule".to_owned(),
            (Chosen::Own { tier: Some(tier), .. }, Some(tiers)) => {
                format!(", by the tier {}", tiers.name(*tier))
            }
            (Chosen::Own { .. }, _) => String::new(),
        };
        if chosen.windows() == Some(&Windows::Unlimited) {
            let _ = writeln!(out, "      owes  nothing: unlimited{why}");
        }
        for owing in chosen.windows().map_or(&[][..], Windows::owed) {
            let units = owing.units(cost);
            let _ = writeln!(out, "      owes  {units} of {}{why}", envelope::of(owing));
        }
    }
}

/// Whose count it is and what holds while the store is down, unless that is as usual.
fn counted(rule: &Rule) -> Option<&'static str> {
    match (rule.scope, rule.on_store_error) {
        (Scope::Node, _) => Some("of this process alone (scope: node)"),
        (Scope::Cluster, Outage::Allow) => {
            Some("none while the store is down: everybody is let through (on_store_error: allow)")
        }
        (Scope::Cluster, Outage::Deny) => {
            Some("none while the store is down: everybody is refused (on_store_error: deny)")
        }
        (Scope::Cluster, Outage::Local) => None,
    }
}

/// What was found of an identity, masked if it is secret.
fn shown(facts: &mut Facts<'_>, index: usize) -> String {
    match facts.identity(index) {
        Identified::Missing => match facts.values(index).len() {
            0 | 1 => "missing".to_owned(),
            several => format!("missing: the request carries {several} values"),
        },
        Identified::Bytes(bytes) => String::from_utf8_lossy(bytes).escape_debug().to_string(),
        Identified::Digest(digest) => {
            let [first, second, third, ..] = digest;
            format!("…{first:02x}{second:02x}{third:02x} (a digest)")
        }
        Identified::Address { group, .. } => group.to_string(),
    }
}

fn write_request(facts: &mut Facts<'_>, out: &mut String) {
    let unnamed = || match facts.request.entries {
        Some(entries) => {
            let domain = facts.attribute("domain").map(|domain| domain.as_text().into_owned());
            let domain = domain.unwrap_or_default();
            format!("a descriptor of {entries} entries from {}", domain.escape_debug())
        }
        None => "a request".to_owned(),
    };
    let method = facts.method().map_or_else(unnamed, |method| method.escape_debug().to_string());
    let sent = facts.target().map(|target| {
        let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
        String::from_utf8_lossy(path).escape_debug().to_string()
    });
    let read =
        facts.paths().map(|paths| String::from_utf8_lossy(paths.main()).escape_debug().to_string());
    let shown = facts.path_shown();
    let _ = write!(out, "request\n  {method}");
    if let (Some(sent), Some(read), Some(shown)) = (sent, read, shown) {
        let _ = write!(out, " {shown}");
        // What was sent may spell a secret in other letters.
        if sent != read && shown == read {
            let _ = write!(out, "  (sent as {sent})");
        }
    }
    out.push('\n');
}

//! Explanations of why each rule applies to a request or does not.

pub(crate) mod envelope;

use std::fmt::{self, Write as _};

use sluicegate::{OnStoreError, Scope, Time};

use crate::directory::{Directory, ListKind};
use crate::plan::key_buffer::KeyBuffer;
use crate::plan::{KeyOutcome, SelectedLimits, key_of, listing};
use crate::request::Request;
use crate::request::context::RequestContext;
use crate::request::identity::{IdentitySource, IdentityValue};
use crate::rule_set::RuleSet;
use crate::rule_set::limits::LimitSet;
use crate::rule_set::rule::{Mode, Rule};

/// An explanation of why each rule applies to a request or does not.
///
/// Its text masks secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation(String);

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl RuleSet {
    /// Explains, rule by rule, which limits apply to a request at `now`.
    pub fn explain<'p>(
        &'p self,
        directory: &'p Directory,
        request: &Request<'p>,
        now: Time,
    ) -> Explanation {
        let mut context = RequestContext::of(self, directory, *request, now);
        let mut out = String::new();
        write_request(&mut context, &mut out);
        self.write_identities(&mut context, &mut out);
        out.push_str("rules\n");
        match listing(self, &mut context) {
            Some(ListKind::Block) => {
                out.push_str("  skipped: the caller is on the block-list and is refused\n");
            }
            Some(ListKind::Allow) => {
                out.push_str("  skipped: the caller is on the allow-list and is allowed\n");
            }
            None if self.rules.is_empty() => out.push_str("  none\n"),
            None => {
                for rule in &self.rules {
                    self.write_rule(rule, &mut context, &mut out);
                }
            }
        }
        Explanation(out)
    }

    fn write_identities(&self, context: &mut RequestContext<'_>, out: &mut String) {
        out.push_str("identities\n");
        let tier = self.tiers.as_ref().and_then(|tiers| tiers.identity);
        for index in (0..self.identities.len()).filter(|index| Some(*index) != tier) {
            let found = shown(context, index);
            let source = self.describe_source(index, context);
            let _ = writeln!(out, "  {} = {found}  ({source})", self.identities[index].name);
        }
        if let (Some(tiers), Some(tier)) = (&self.tiers, context.tier()) {
            let default = if tier == tiers.default { "  (the default tier)" } else { "" };
            let _ = writeln!(out, "  tier = {}{default}", tiers.name(tier));
        }
    }

    /// Describes the source of an identity.
    fn describe_source(&self, index: usize, context: &mut RequestContext<'_>) -> String {
        let identity = &self.identities[index];
        if context.attribute(&identity.name).is_some() {
            return format!("from the attribute `{}`", identity.name);
        }
        match &identity.source {
            IdentitySource::Attribute(name) => format!("from the attribute `{name}`"),
            IdentitySource::Header(name) => format!("from the header `{name}`"),
            IdentitySource::Cookie(name) => format!("from the cookie `{name}`"),
            IdentitySource::Query(name) => format!("from the query parameter `{name}`"),
            IdentitySource::Path { pattern, .. } => format!("from the path, as in {pattern}"),
            IdentitySource::Segment(number) => format!("segment {number} of the path"),
            IdentitySource::Method => "the method".to_owned(),
            IdentitySource::Host => "the host".to_owned(),
            IdentitySource::Address { proxies, .. } => match context.client(proxies) {
                Some(client) => client.found.to_string(),
                None => "no address is known".to_owned(),
            },
            IdentitySource::Claim { token, claim } => self.describe_claim(*token, claim, context),
            IdentitySource::Fingerprint(names) => format!("from the headers {}", names.join(", ")),
        }
    }

    #[cfg(feature = "jwt")]
    #[allow(clippy::unused_self, reason = "the same shape without tokens")]
    fn describe_claim(
        &self,
        token: usize,
        claim: &str,
        context: &mut RequestContext<'_>,
    ) -> String {
        match context.claims(token) {
            Some(Err(rejected)) => format!("the claim `{claim}` of a token: {rejected}"),
            _ => format!("the claim `{claim}` of a token"),
        }
    }

    #[cfg(not(feature = "jwt"))]
    #[allow(clippy::unused_self, reason = "the same shape with tokens")]
    fn describe_claim(
        &self,
        _token: usize,
        claim: &str,
        _facts: &mut RequestContext<'_>,
    ) -> String {
        format!("the claim `{claim}` of a token")
    }

    fn write_rule<'p>(
        &'p self,
        rule: &'p Rule,
        context: &mut RequestContext<'p>,
        out: &mut String,
    ) {
        if let Err(why) = rule.matcher.check(context) {
            let _ = writeln!(
                out,
                "  - {}: does not apply: {}",
                rule.name,
                why.explain(&rule.matcher, context)
            );
            return;
        }
        match key_of(rule, context, &mut KeyBuffer::default()) {
            KeyOutcome::Skip => {
                let _ = writeln!(
                    out,
                    "  - {}: does not apply: an identity of its key is missing (if_missing: skip)",
                    rule.name
                );
                return;
            }
            KeyOutcome::Missing(identity) if rule.mode == Mode::Shadow => {
                let name = &self.identities[identity].name;
                let _ = writeln!(
                    out,
                    "  - {}: does not apply: `{name}` is missing, and a shadow rule never refuses",
                    rule.name
                );
                return;
            }
            KeyOutcome::Missing(identity) => {
                let name = &self.identities[identity].name;
                let _ = writeln!(out, "  x {}: refuses with 401: `{name}` is missing", rule.name);
                return;
            }
            KeyOutcome::At(_) => {}
        }
        let shadow =
            if rule.mode == Mode::Shadow { " in shadow mode: counts, never refuses" } else { "" };
        let _ = writeln!(out, "  + {}: applies{shadow}", rule.name);
        let key: Vec<String> = rule
            .key
            .iter()
            .map(|index| format!("{}={}", self.identities[*index].name, shown(context, *index)))
            .collect();
        let key =
            if key.is_empty() { "one counter for all callers".to_owned() } else { key.join(" ") };
        let _ = writeln!(out, "      key   {key}");
        if let Some(counting) = describe_counting(rule) {
            let _ = writeln!(out, "      count {counting}");
        }
        self.write_limits(rule, context, out);
    }

    fn write_limits<'p>(
        &'p self,
        rule: &'p Rule,
        context: &mut RequestContext<'p>,
        out: &mut String,
    ) {
        if let Some(cooldown) = &rule.cooldown {
            let after = cooldown.limit.capacity();
            let taken = if cooldown.limit.uses_up() {
                format!("1 of {after} attempts and failures, until its result is reported")
            } else {
                format!("nothing; blocks after {after} failures")
            };
            let _ = writeln!(out, "      takes {taken}");
        }
        let (cost, chosen) = (rule.costs.of(context), SelectedLimits::of(rule, context));
        let why = match (&chosen, &self.tiers) {
            (SelectedLimits::Caller(_), _) => ", by an override for this caller".to_owned(),
            (SelectedLimits::Override(_), _) => ", by an override of the rule".to_owned(),
            (SelectedLimits::Own { tier: Some(tier), .. }, Some(tiers)) => {
                format!(", by the tier {}", tiers.name(*tier))
            }
            (SelectedLimits::Own { .. }, _) => String::new(),
        };
        if chosen.limits() == Some(&LimitSet::Unlimited) {
            let _ = writeln!(out, "      takes nothing: unlimited{why}");
        }
        for rule_limit in chosen.limits().map_or(&[][..], LimitSet::rule_limits) {
            let units = rule_limit.units(cost);
            let _ = writeln!(out, "      takes {units} of {}{why}", envelope::of(rule_limit));
        }
    }
}

/// Describes the scope and the fallback of a rule, unless both are the default.
fn describe_counting(rule: &Rule) -> Option<&'static str> {
    match (rule.scope, rule.on_store_error) {
        (Scope::Node, _) => Some("in this process only (scope: node)"),
        (Scope::Cluster, OnStoreError::Allow) => {
            Some("none while the store is down: all requests are allowed (on_store_error: allow)")
        }
        (Scope::Cluster, OnStoreError::Deny) => {
            Some("none while the store is down: all requests are refused (on_store_error: deny)")
        }
        (Scope::Cluster, OnStoreError::Local) => None,
    }
}

/// The value of an identity, masked if it is secret.
fn shown(context: &mut RequestContext<'_>, index: usize) -> String {
    match context.identity(index) {
        IdentityValue::Missing => match context.values(index).len() {
            0 | 1 => "missing".to_owned(),
            several => format!("missing: the request carries {several} values"),
        },
        IdentityValue::Bytes(bytes) => String::from_utf8_lossy(bytes).escape_debug().to_string(),
        IdentityValue::Digest(digest) => {
            let [first, second, third, ..] = digest;
            format!("…{first:02x}{second:02x}{third:02x} (a digest)")
        }
        IdentityValue::Address { group, .. } => group.to_string(),
    }
}

fn write_request(context: &mut RequestContext<'_>, out: &mut String) {
    let unnamed = || match context.request.entries {
        Some(entries) => {
            let domain = context.attribute("domain").map(|domain| domain.as_text().into_owned());
            let domain = domain.unwrap_or_default();
            format!("a descriptor of {entries} entries from {}", domain.escape_debug())
        }
        None => "a request".to_owned(),
    };
    let method = context.method().map_or_else(unnamed, |method| method.escape_debug().to_string());
    let sent = context.target().map(|target| {
        let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
        String::from_utf8_lossy(path).escape_debug().to_string()
    });
    let read = context
        .paths()
        .map(|paths| String::from_utf8_lossy(paths.main()).escape_debug().to_string());
    let shown = context.path_shown();
    let _ = write!(out, "request\n  {method}");
    if let (Some(sent), Some(read), Some(shown)) = (sent, read, shown) {
        let _ = write!(out, " {shown}");
        // Only if the path has no secret, because the raw path may spell it differently.
        if sent != read && shown == read {
            let _ = write!(out, "  (sent as {sent})");
        }
    }
    out.push('\n');
}

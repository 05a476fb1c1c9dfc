//! The matcher of a rule, and the reasons why a request does not match.

use std::borrow::Cow;
use std::fmt;

use crate::matching::condition::Condition;
use crate::matching::schedule::WeeklyHours;
use crate::request::AttributeValue;
use crate::request::address::networks::Networks;
use crate::request::context::{Host, RequestContext};
use crate::request::host::HostPattern;
use crate::request::identity::IdentityValue;
use crate::request::path::Pattern;
use crate::rule_set::tiers::TierId;

/// The conditions under which a rule applies; all of them have to be met.
#[derive(Debug, Default)]
pub(crate) struct Matcher {
    pub(crate) methods: Vec<Box<str>>,
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) paths: Vec<Pattern>,
    pub(crate) headers: Vec<(Box<str>, Condition)>,
    pub(crate) attributes: Vec<(Box<str>, Condition)>,
    /// The names of the entries that a descriptor must have, and no others; sorted.
    pub(crate) entries: Option<Vec<Box<str>>>,
    pub(crate) identities: Vec<(usize, Condition)>,
    pub(crate) tiers: Option<Vec<TierId>>,
    pub(crate) addresses: Option<(usize, Networks)>,
    pub(crate) times: Vec<WeeklyHours>,
    /// None of these may match.
    pub(crate) not: Vec<Matcher>,
    /// Whether a host or path came from the environment, so that messages do not show it.
    pub(crate) is_from_environment: bool,
}

/// How to match a request that can be read in several ways.
///
/// A rule applies if any reading matches, and an exception only if all do, so that an unusual
/// spelling never bypasses a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ambiguity {
    AnyReading,
    AllReadings,
}

impl Ambiguity {
    const fn inverted(self) -> Self {
        match self {
            Self::AnyReading => Self::AllReadings,
            Self::AllReadings => Self::AnyReading,
        }
    }
}

/// The condition of a rule that a request does not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mismatch {
    Method,
    Host,
    Path,
    Header(usize),
    Attribute(usize),
    Entries,
    Entry(usize),
    Identity(usize),
    Tier,
    Address,
    Time,
    Not(usize),
}

impl Matcher {
    /// Checks whether the rule applies to a request; the error is the first mismatch.
    pub(crate) fn check(&self, context: &mut RequestContext<'_>) -> Result<(), Mismatch> {
        self.check_as(Ambiguity::AnyReading, context)
    }

    fn check_as(
        &self,
        ambiguity: Ambiguity,
        context: &mut RequestContext<'_>,
    ) -> Result<(), Mismatch> {
        self.check_path(ambiguity, context)?;
        self.check_rest(ambiguity, context)
    }

    fn check_path(
        &self,
        ambiguity: Ambiguity,
        context: &mut RequestContext<'_>,
    ) -> Result<(), Mismatch> {
        let meets = |path: &[u8]| self.paths.iter().any(|pattern| pattern.matches(path));
        let is_match = self.paths.is_empty()
            || context.paths().is_some_and(|paths| match ambiguity {
                Ambiguity::AnyReading => paths.readings().any(meets),
                Ambiguity::AllReadings => paths.readings().all(meets),
            });
        is_match.then_some(()).ok_or(Mismatch::Path)
    }

    /// Checks all conditions but the path, for a request whose path is known to match.
    pub(crate) fn check_beyond_path(
        &self,
        context: &mut RequestContext<'_>,
    ) -> Result<(), Mismatch> {
        self.check_rest(Ambiguity::AnyReading, context)
    }

    /// Checks all conditions but the path, cheap ones first.
    fn check_rest(
        &self,
        ambiguity: Ambiguity,
        context: &mut RequestContext<'_>,
    ) -> Result<(), Mismatch> {
        if !self.methods.is_empty() {
            let method = context.method();
            let wanted =
                |method: &str| self.methods.iter().any(|own| own.eq_ignore_ascii_case(method));
            if !method.is_some_and(|method| wanted(&method)) {
                return Err(Mismatch::Method);
            }
        }
        if !self.hosts.is_empty() {
            let is_match = match context.host() {
                Host::Named(host) => {
                    self.hosts.iter().any(|pattern| pattern.matches(host.as_bytes()))
                }
                // An upstream may read a malformed host as any host.
                Host::Malformed => ambiguity == Ambiguity::AnyReading,
                Host::Unknown => false,
            };
            if !is_match {
                return Err(Mismatch::Host);
            }
        }
        for (index, (name, condition)) in self.attributes.iter().enumerate() {
            if !condition.admits(context.attribute(name).as_ref()) {
                return Err(Mismatch::Attribute(index));
            }
        }
        if let Some(wanted) = &self.entries {
            // A negated condition also admits an absent value, but an entry must be present.
            if let Some(absent) = wanted.iter().position(|name| context.attribute(name).is_none()) {
                return Err(Mismatch::Entry(absent));
            }
            // Requests other than descriptors may have more attributes.
            if context.request.entries.is_some_and(|found| found != wanted.len()) {
                return Err(Mismatch::Entries);
            }
        }
        for (index, (name, condition)) in self.headers.iter().enumerate() {
            if !header_admits(ambiguity, context, name, condition) {
                return Err(Mismatch::Header(index));
            }
        }
        for (index, (identity, condition)) in self.identities.iter().enumerate() {
            if !identity_admits(ambiguity, context, *identity, condition) {
                return Err(Mismatch::Identity(index));
            }
        }
        if let Some(tiers) = &self.tiers
            && !context.tier().is_some_and(|tier| tiers.contains(&tier))
        {
            return Err(Mismatch::Tier);
        }
        if let Some((identity, networks)) = &self.addresses
            && !matches!(context.identity(*identity),
                IdentityValue::Address { address, .. } if networks.contains(*address))
        {
            return Err(Mismatch::Address);
        }
        if !self.times.is_empty() && !self.times.iter().any(|time| time.contains(context.now)) {
            return Err(Mismatch::Time);
        }
        match self.not.iter().position(|not| not.check_as(ambiguity.inverted(), context).is_ok()) {
            Some(index) => Err(Mismatch::Not(index)),
            None => Ok(()),
        }
    }

    /// Whether `other` has all its conditions, so that it applies wherever `other` does.
    pub(crate) fn is_part_of(&self, other: &Self) -> bool {
        fn among<T: PartialEq>(own: &[T], others: &[T]) -> bool {
            own.is_empty() || (!others.is_empty() && others.iter().all(|one| own.contains(one)))
        }
        let tiers = self.tiers.as_ref().is_none_or(|own| {
            other.tiers.as_ref().is_some_and(|others| others.iter().all(|one| own.contains(one)))
        });
        among(&self.methods, &other.methods)
            && among(&self.hosts, &other.hosts)
            && (self.paths.iter().any(Pattern::is_everything) || among(&self.paths, &other.paths))
            && tiers
            && (self.entries.is_none() || self.entries == other.entries)
            && self.headers.iter().all(|own| other.headers.contains(own))
            && self.attributes.iter().all(|own| other.attributes.contains(own))
            && self.identities.iter().all(|own| other.identities.contains(own))
            && self.addresses.is_none()
            && self.times.is_empty()
            && self.not.is_empty()
    }

    /// Whether it applies to everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_part_of(&Self::default())
    }
}

/// Whether a header matches; each of its lines is a reading, as upstreams may use any of them.
fn header_admits(
    ambiguity: Ambiguity,
    context: &RequestContext<'_>,
    name: &str,
    condition: &Condition,
) -> bool {
    let (mut lines, mut matching) = (0, 0);
    context.request.headers.each(name, &mut |line| {
        lines += 1;
        let text = String::from_utf8_lossy(line.trim_ascii());
        matching += usize::from(condition.admits(Some(&AttributeValue::Text(&text))));
    });
    match ambiguity {
        _ if lines == 0 => condition.admits(None),
        Ambiguity::AnyReading => matching > 0,
        Ambiguity::AllReadings => matching == lines,
    }
}

/// Whether an identity matches.
///
/// Each value of a repeated identity is a reading, and so is its absence, as upstreams may use any
/// value or none.
fn identity_admits(
    ambiguity: Ambiguity,
    context: &mut RequestContext<'_>,
    identity: usize,
    condition: &Condition,
) -> bool {
    if let Some(text) = context.identity_text(identity) {
        return condition.admits(Some(&AttributeValue::Text(&text)));
    }
    let values = context.values(identity);
    let admits = |value: &Cow<'_, [u8]>| {
        condition.admits(Some(&AttributeValue::Text(&String::from_utf8_lossy(value))))
    };
    let mut values =
        values.iter().filter(|value| !IdentityValue::value(&***value).is_missing()).map(admits);
    match ambiguity {
        Ambiguity::AnyReading => condition.admits(None) || values.any(|admits| admits),
        Ambiguity::AllReadings => condition.admits(None) && values.all(|admits| admits),
    }
}

impl Mismatch {
    /// Describes the required and the actual value.
    pub(crate) fn explain(self, matcher: &Matcher, context: &mut RequestContext<'_>) -> String {
        let or = |texts: &mut dyn Iterator<Item = String>| texts.collect::<Vec<_>>().join(" or ");
        match self {
            Self::Method => {
                let found = context.method().unwrap_or(Cow::Borrowed("unknown"));
                let wanted = or(&mut matcher.methods.iter().map(ToString::to_string));
                format!("the method is {}, the rule requires {wanted}", found.escape_debug())
            }
            Self::Host => {
                let found = match context.host() {
                    Host::Named(host) => {
                        String::from_utf8_lossy(host.as_bytes()).escape_debug().to_string()
                    }
                    Host::Malformed => "malformed".to_owned(),
                    Host::Unknown => "unknown".to_owned(),
                };
                let wanted = if matcher.is_from_environment {
                    FROM_ENVIRONMENT.to_owned()
                } else {
                    or(&mut matcher.hosts.iter().map(ToString::to_string))
                };
                format!("the host is {found}, the rule requires {wanted}")
            }
            Self::Path => {
                let found = context.path_shown().unwrap_or_else(|| "unknown".to_owned());
                let wanted = if matcher.is_from_environment {
                    FROM_ENVIRONMENT.to_owned()
                } else {
                    or(&mut matcher.paths.iter().map(ToString::to_string))
                };
                format!("the path is {found}, the rule requires {wanted}")
            }
            Self::Header(index) => requires("header", matcher.headers.get(index)),
            Self::Attribute(index) => requires("attribute", matcher.attributes.get(index)),
            Self::Entries => {
                let found = context.request.entries.unwrap_or_default();
                let wanted = matcher.entries.as_ref().map_or(0, Vec::len);
                format!("the descriptor has {found} entries, the rule requires exactly {wanted}")
            }
            Self::Entry(index) => {
                let wanted = matcher.entries.as_ref().and_then(|entries| entries.get(index));
                let name = wanted.map_or_else(String::new, |name| name.escape_debug().to_string());
                format!("the descriptor has no entry `{name}`")
            }
            Self::Identity(index) => {
                let wanted = matcher.identities.get(index);
                let named = wanted.and_then(|(identity, condition)| {
                    Some((context.rules.identities.get(*identity)?.name.clone(), condition.clone()))
                });
                requires("identity", named.as_ref())
            }
            Self::Tier => {
                let (Some(tiers), Some(wanted)) = (&context.rules.tiers, &matcher.tiers) else {
                    return "there are no tiers".to_owned();
                };
                let wanted = or(&mut wanted.iter().map(|tier| tiers.name(*tier).to_owned()));
                let found = context.tier().map_or("unknown", |tier| tiers.name(tier));
                format!("the tier is {found}, the rule requires {wanted}")
            }
            Self::Address => "the address is in none of the required networks".to_owned(),
            Self::Time => {
                let wanted = or(&mut matcher.times.iter().map(ToString::to_string));
                format!("the time is outside {wanted}")
            }
            Self::Not(_) => "the request matches `not`".to_owned(),
        }
    }
}

/// Shown in place of a value from the environment.
const FROM_ENVIRONMENT: &str = "one from the environment";

/// Describes a required value without the actual one, which may be a secret.
fn requires(kind: &str, wanted: Option<&(Box<str>, impl fmt::Display)>) -> String {
    match wanted {
        Some((name, condition)) => format!("the {kind} `{name}` is not {condition}"),
        None => format!("a required {kind} does not match"),
    }
}

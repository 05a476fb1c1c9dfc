//! Which requests a rule applies to, and why not to the others.

use std::borrow::Cow;
use std::fmt;

use crate::address::networks::Networks;
use crate::condition::Condition;
use crate::daytime::Daytime;
use crate::facts::{Facts, Host};
use crate::host::HostPattern;
use crate::identity::Identified;
use crate::path::Pattern;
use crate::request::Value;
use crate::tier::TierId;

/// Which requests a rule applies to: all of what it says has to be so.
#[derive(Debug, Default)]
pub(crate) struct Matcher {
    pub(crate) methods: Vec<Box<str>>,
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) paths: Vec<Pattern>,
    pub(crate) headers: Vec<(Box<str>, Condition)>,
    pub(crate) attributes: Vec<(Box<str>, Condition)>,
    /// The entries that a descriptor has to have, and no others, by name in order.
    pub(crate) entries: Option<Vec<Box<str>>>,
    pub(crate) identities: Vec<(usize, Condition)>,
    pub(crate) tiers: Option<Vec<TierId>>,
    pub(crate) addresses: Option<(usize, Networks)>,
    pub(crate) times: Vec<Daytime>,
    /// None of these may be so.
    pub(crate) not: Vec<Matcher>,
    /// Whether a host or a path came from the environment, and is not shown.
    pub(crate) untold: bool,
}

/// Which way to decide where a request can be read in several ways: a rule applies if any reading
/// meets it, and an exception only if all do, so that an odd spelling never leads past a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    For,
    Against,
}

impl Doubt {
    const fn turned(self) -> Self {
        match self {
            Self::For => Self::Against,
            Self::Against => Self::For,
        }
    }
}

/// What a request does not have that a rule wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
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
    /// Whether a request is what the rule applies to, and if not, the first reason.
    pub(crate) fn check(&self, facts: &mut Facts<'_>) -> Result<(), Why> {
        self.check_as(Doubt::For, facts)
    }

    fn check_as(&self, doubt: Doubt, facts: &mut Facts<'_>) -> Result<(), Why> {
        self.check_path(doubt, facts)?;
        self.check_rest(doubt, facts)
    }

    fn check_path(&self, doubt: Doubt, facts: &mut Facts<'_>) -> Result<(), Why> {
        let meets = |path: &[u8]| self.paths.iter().any(|pattern| pattern.matches(path));
        let met = self.paths.is_empty()
            || facts.paths().is_some_and(|paths| match doubt {
                Doubt::For => paths.readings().any(meets),
                Doubt::Against => paths.readings().all(meets),
            });
        met.then_some(()).ok_or(Why::Path)
    }

    /// The same for a request whose path is known to be right.
    pub(crate) fn check_beyond_path(&self, facts: &mut Facts<'_>) -> Result<(), Why> {
        self.check_rest(Doubt::For, facts)
    }

    /// What is cheap to look at first.
    fn check_rest(&self, doubt: Doubt, facts: &mut Facts<'_>) -> Result<(), Why> {
        if !self.methods.is_empty() {
            let method = facts.method();
            let wanted =
                |method: &str| self.methods.iter().any(|own| own.eq_ignore_ascii_case(method));
            if !method.is_some_and(|method| wanted(&method)) {
                return Err(Why::Method);
            }
        }
        if !self.hosts.is_empty() {
            let met = match facts.host() {
                Host::Named(host) => {
                    self.hosts.iter().any(|pattern| pattern.matches(host.as_bytes()))
                }
                // Nobody knows what an upstream makes of it.
                Host::Malformed => doubt == Doubt::For,
                Host::Unknown => false,
            };
            if !met {
                return Err(Why::Host);
            }
        }
        for (index, (name, condition)) in self.attributes.iter().enumerate() {
            if !condition.admits(facts.attribute(name).as_ref()) {
                return Err(Why::Attribute(index));
            }
        }
        if let Some(wanted) = &self.entries {
            // A negated condition also admits an absent value, but an entry has to be there.
            if let Some(absent) = wanted.iter().position(|name| facts.attribute(name).is_none()) {
                return Err(Why::Entry(absent));
            }
            // Requests other than descriptors may have more attributes.
            if facts.request.entries.is_some_and(|found| found != wanted.len()) {
                return Err(Why::Entries);
            }
        }
        for (index, (name, condition)) in self.headers.iter().enumerate() {
            if !header_admits(doubt, facts, name, condition) {
                return Err(Why::Header(index));
            }
        }
        for (index, (identity, condition)) in self.identities.iter().enumerate() {
            if !identity_admits(doubt, facts, *identity, condition) {
                return Err(Why::Identity(index));
            }
        }
        if let Some(tiers) = &self.tiers
            && !facts.tier().is_some_and(|tier| tiers.contains(&tier))
        {
            return Err(Why::Tier);
        }
        if let Some((identity, networks)) = &self.addresses
            && !matches!(facts.identity(*identity),
                Identified::Address { address, .. } if networks.contains(*address))
        {
            return Err(Why::Address);
        }
        if !self.times.is_empty() && !self.times.iter().any(|time| time.contains(facts.now)) {
            return Err(Why::Time);
        }
        match self.not.iter().position(|not| not.check_as(doubt.turned(), facts).is_ok()) {
            Some(index) => Err(Why::Not(index)),
            None => Ok(()),
        }
    }

    /// Whether everything that `other` applies to, this one surely applies to as well.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let wider = |own: &[Box<str>], others: &[Box<str>]| {
            own.is_empty() || (!others.is_empty() && others.iter().all(|one| own.contains(one)))
        };
        let hosts = self.hosts.is_empty()
            || (!other.hosts.is_empty()
                && other.hosts.iter().all(|one| self.hosts.iter().any(|own| own.covers(one))));
        let paths = self.paths.is_empty()
            || (!other.paths.is_empty()
                && other.paths.iter().all(|one| self.paths.iter().any(|own| own.covers(one))));
        let tiers = match (&self.tiers, &other.tiers) {
            (None, _) => true,
            (Some(own), Some(others)) => others.iter().all(|one| own.contains(one)),
            (Some(_), None) => false,
        };
        wider(&self.methods, &other.methods)
            && hosts
            && paths
            && tiers
            && (self.entries.is_none() || self.entries == other.entries)
            && self.headers.iter().all(|own| other.headers.contains(own))
            && self.attributes.iter().all(|own| other.attributes.contains(own))
            && self.identities.iter().all(|own| other.identities.contains(own))
            && self.addresses.is_none()
            && self.times.is_empty()
            && self.not.is_empty()
    }

    /// How many things it wants of a request.
    pub(crate) fn wants(&self) -> usize {
        let said = [
            !self.methods.is_empty(),
            !self.hosts.is_empty(),
            !self.paths.is_empty(),
            self.tiers.is_some(),
            self.addresses.is_some(),
            !self.times.is_empty(),
            self.entries.is_some(),
        ];
        said.into_iter().filter(|said| *said).count()
            + self.headers.len()
            + self.attributes.len()
            + self.identities.len()
            + self.not.len()
    }

    /// Whether it applies to everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.covers(&Self::default())
    }
}

/// Nobody knows which line of a header an upstream reads: each is a reading of it.
fn header_admits(doubt: Doubt, facts: &Facts<'_>, name: &str, condition: &Condition) -> bool {
    let (mut lines, mut met) = (0, 0);
    facts.request.headers.each(name, &mut |line| {
        lines += 1;
        let text = String::from_utf8_lossy(line.trim_ascii());
        met += usize::from(condition.admits(Some(&Value::Text(&text))));
    });
    match doubt {
        _ if lines == 0 => condition.admits(None),
        Doubt::For => met > 0,
        Doubt::Against => met == lines,
    }
}

/// Upstreams may read any value of an identity that is repeated, or none: each is a reading of it.
fn identity_admits(
    doubt: Doubt,
    facts: &mut Facts<'_>,
    identity: usize,
    condition: &Condition,
) -> bool {
    if let Some(text) = facts.identity_text(identity) {
        return condition.admits(Some(&Value::Text(&text)));
    }
    let values = facts.values(identity);
    let admits = |value: &Cow<'_, [u8]>| {
        condition.admits(Some(&Value::Text(&String::from_utf8_lossy(value))))
    };
    let mut values =
        values.iter().filter(|value| !Identified::value(&***value).is_missing()).map(admits);
    match doubt {
        Doubt::For => condition.admits(None) || values.any(|met| met),
        Doubt::Against => condition.admits(None) && values.all(|met| met),
    }
}

impl Why {
    /// What was wanted and what was found, in words.
    pub(crate) fn explain(self, matcher: &Matcher, facts: &mut Facts<'_>) -> String {
        let or = |wanted: &mut dyn Iterator<Item = String>| wanted.collect::<Vec<_>>().join(" or ");
        match self {
            Self::Method => {
                let found = facts.method().unwrap_or(Cow::Borrowed("unknown"));
                let wanted = or(&mut matcher.methods.iter().map(ToString::to_string));
                format!("the method is {}, it wants {wanted}", found.escape_debug())
            }
            Self::Host => {
                let found = match facts.host() {
                    Host::Named(host) => {
                        String::from_utf8_lossy(host.as_bytes()).escape_debug().to_string()
                    }
                    Host::Malformed => "malformed".to_owned(),
                    Host::Unknown => "unknown".to_owned(),
                };
                let wanted = if matcher.untold {
                    UNTOLD.to_owned()
                } else {
                    or(&mut matcher.hosts.iter().map(ToString::to_string))
                };
                format!("the host is {found}, it wants {wanted}")
            }
            Self::Path => {
                let found = facts.path_shown().unwrap_or_else(|| "unknown".to_owned());
                let wanted = if matcher.untold {
                    UNTOLD.to_owned()
                } else {
                    or(&mut matcher.paths.iter().map(ToString::to_string))
                };
                format!("the path is {found}, it wants {wanted}")
            }
            Self::Header(index) => wants("header", matcher.headers.get(index)),
            Self::Attribute(index) => wants("attribute", matcher.attributes.get(index)),
            Self::Entries => {
                let found = facts.request.entries.unwrap_or_default();
                let wanted = matcher.entries.as_ref().map_or(0, Vec::len);
                format!("the descriptor has {found} entries, it wants just the {wanted} it names")
            }
            Self::Entry(index) => {
                let wanted = matcher.entries.as_ref().and_then(|entries| entries.get(index));
                let name = wanted.map_or_else(String::new, |name| name.escape_debug().to_string());
                format!("the descriptor has no entry `{name}`")
            }
            Self::Identity(index) => {
                let wanted = matcher.identities.get(index);
                let named = wanted.and_then(|(identity, condition)| {
                    Some((facts.rules.identities.get(*identity)?.name.clone(), condition.clone()))
                });
                wants("identity", named.as_ref())
            }
            Self::Tier => {
                let (Some(tiers), Some(wanted)) = (&facts.rules.tiers, &matcher.tiers) else {
                    return "there are no tiers".to_owned();
                };
                let wanted = or(&mut wanted.iter().map(|tier| tiers.name(*tier).to_owned()));
                let found = facts.tier().map_or("unknown", |tier| tiers.name(tier));
                format!("the tier is {found}, it wants {wanted}")
            }
            Self::Address => "the address is in none of the networks it wants".to_owned(),
            Self::Time => {
                let wanted = or(&mut matcher.times.iter().map(ToString::to_string));
                format!("it is not the time, it wants {wanted}")
            }
            Self::Not(_) => "it is one of those that `not` leaves out".to_owned(),
        }
    }
}

/// What is shown in the place of what the environment said.
const UNTOLD: &str = "one from the environment";

/// Without what was found: it may be a secret.
fn wants(what: &str, wanted: Option<&(Box<str>, impl fmt::Display)>) -> String {
    match wanted {
        Some((name, condition)) => format!("the {what} `{name}` is not {condition}"),
        None => format!("a {what} is not as it wants"),
    }
}

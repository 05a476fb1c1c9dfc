//! What a trace says about itself before its first entry: the rules, and what happened to the store.

mod rule_spec;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::rule_spec::RuleSpec;

/// What a trace says about itself before its first entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format, [`Header::VERSION`].
    pub trace: u32,
    /// The rules by name.
    #[serde(default)]
    pub rules: BTreeMap<String, RuleSpec>,
    /// How many nodes share the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// When the store was away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
    /// How far the clocks of deciding stores may be off.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clock_error_us: u64,
    /// When the store lost what it had counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state_losses: Vec<Loss>,
    /// Whether all counters were empty when the trace began; they were unless this says `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<bool>,
    /// Whether nodes charge what they admitted by themselves when the store is back; they do
    /// unless this says `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charged_back: Option<bool>,
}

/// A time in which the store was away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Outage {
    /// Its beginning, in microseconds since 1970.
    pub from_us: u64,
    /// Its end.
    pub until_us: u64,
    /// What became of requests then, for rules that do not say so themselves.
    #[serde(default)]
    pub policy: OnStoreError,
}

/// What becomes of a request while the store is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnStoreError {
    /// Each node goes on with its own share of the limit.
    #[default]
    Local,
    /// It is allowed.
    Allow,
    /// It is refused.
    Deny,
}

/// When the store lost what it had counted: at a moment between these two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "LossAsWritten")]
pub struct Loss {
    /// Not before this, in microseconds since 1970.
    pub from_us: u64,
    /// Not after this.
    pub until_us: u64,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a time in microseconds, or one from `from_us` to `until_us`")]
enum LossAsWritten {
    At(u64),
    Between { from_us: u64, until_us: u64 },
}

impl From<LossAsWritten> for Loss {
    fn from(written: LossAsWritten) -> Self {
        match written {
            LossAsWritten::At(at) => Self { from_us: at, until_us: at },
            LossAsWritten::Between { from_us, until_us } => Self { from_us, until_us },
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_zero(micros: &u64) -> bool {
    *micros == 0
}

impl Default for Header {
    fn default() -> Self {
        Self {
            trace: Self::VERSION,
            rules: BTreeMap::new(),
            nodes: None,
            outages: Vec::new(),
            clock_error_us: 0,
            state_losses: Vec::new(),
            fresh: None,
            charged_back: None,
        }
    }
}

impl Header {
    /// The version of the format that is written and read here.
    pub const VERSION: u32 = 1;

    /// The same with this rule.
    #[must_use]
    pub fn rule(mut self, name: impl Into<String>, spec: RuleSpec) -> Self {
        self.rules.insert(name.into(), spec);
        self
    }

    /// The same for so many nodes.
    #[must_use]
    pub fn nodes(self, nodes: u32) -> Self {
        Self { nodes: Some(nodes), ..self }
    }

    /// The same with a time in which the store was away.
    #[must_use]
    pub fn outage(mut self, from_us: u64, until_us: u64, policy: OnStoreError) -> Self {
        self.outages.push(Outage { from_us, until_us, policy });
        self
    }

    /// The same with a moment at which the store lost what it had counted.
    #[must_use]
    pub fn loss(mut self, from_us: u64, until_us: u64) -> Self {
        self.state_losses.push(Loss { from_us, until_us });
        self
    }

    /// The same of nodes that do not charge what they admitted by themselves.
    #[must_use]
    pub fn never_charged_back(self) -> Self {
        Self { charged_back: Some(false), ..self }
    }

    /// Takes over what another header says: of a second file, or from the command line. What
    /// both say has to agree.
    pub fn merge(&mut self, other: Self) -> Result<(), HeaderError> {
        for (name, spec) in other.rules {
            match self.rules.entry(name) {
                Place::Vacant(place) => {
                    place.insert(spec);
                }
                Place::Occupied(known) if *known.get() == spec => {}
                Place::Occupied(known) => {
                    return Err(HeaderError::differs(known.key(), &spec, known.get()));
                }
            }
        }
        match (self.nodes, other.nodes) {
            (Some(here), Some(there)) if here != there => {
                return Err(HeaderError::new(format!(
                    "there are {there} nodes here and {here} elsewhere; \
                     the traces of one run say the same number"
                )));
            }
            (here, there) => self.nodes = here.or(there),
        }
        self.outages.extend(other.outages);
        self.outages.sort_unstable();
        self.outages.dedup();
        self.state_losses.extend(other.state_losses);
        self.state_losses.sort_unstable();
        self.state_losses.dedup();
        self.clock_error_us = self.clock_error_us.max(other.clock_error_us);
        self.fresh = match (self.fresh, other.fresh) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (here, there) => here.or(there),
        };
        self.charged_back = match (self.charged_back, other.charged_back) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (here, there) => here.or(there),
        };
        Ok(())
    }

    /// What cannot be in any run.
    pub(crate) fn check(&self) -> Result<(), HeaderError> {
        if self.trace != Self::VERSION {
            return Err(HeaderError::new(format!(
                "this is version {} of traces; this program reads version {}",
                self.trace,
                Self::VERSION
            )));
        }
        let outages = self.outages.iter().map(|outage| (outage.from_us, outage.until_us));
        let losses = self.state_losses.iter().map(|loss| (loss.from_us, loss.until_us));
        match outages.chain(losses).find(|(from, until)| from > until) {
            Some((from, until)) => Err(HeaderError::new(format!(
                "a time from {from} until {until} ends before it begins; give the earlier one first"
            ))),
            None => Ok(()),
        }
    }
}

/// Why a header cannot be gone by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderError {
    what: String,
}

impl HeaderError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }

    /// Two say different things about one rule.
    pub(crate) fn differs(name: &str, here: &RuleSpec, elsewhere: &RuleSpec) -> Self {
        Self::new(format!(
            "the rule `{}` is `{here}` here and `{elsewhere}` elsewhere; \
             audit traces of different rules one by one",
            name.escape_debug(),
        ))
    }
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for HeaderError {}

//! The header of a trace: the rules, and the incidents of the store.

mod rule_spec;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::rule_spec::RuleSpec;

/// The header of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceHeader {
    /// The version of the format, [`TraceHeader::VERSION`].
    pub trace: u32,
    /// The rules by name.
    #[serde(default)]
    pub rules: BTreeMap<String, RuleSpec>,
    /// The number of nodes that share the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// The times at which the store was unavailable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<OutageSpan>,
    /// The largest error of the deciding stores' clocks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clock_error_us: u64,
    /// The times at which the store lost its state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state_losses: Vec<Loss>,
    /// Whether all counters were empty when the trace began; the default is `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<bool>,
    /// Whether nodes charge back their own admissions when the store returns; the default is
    /// `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charged_back: Option<bool>,
}

/// A time in which the store was unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OutageSpan {
    /// Its beginning, in microseconds since 1970.
    pub from_us: u64,
    /// Its end.
    pub until_us: u64,
    /// The fallback in that time, for rules without one of their own.
    #[serde(default)]
    pub policy: OutagePolicy,
}

/// The fallback of a request while the store is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutagePolicy {
    /// Each node decides within its own share of the limit.
    #[default]
    Local,
    /// Allow.
    Allow,
    /// Refuse.
    Deny,
}

/// A loss of the store's state, at some time between these two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "LossAsWritten")]
pub struct Loss {
    /// The earliest time, in microseconds since 1970.
    pub from_us: u64,
    /// The latest time.
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

impl Default for TraceHeader {
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

impl TraceHeader {
    /// The supported version of the format.
    pub const VERSION: u32 = 1;

    /// Returns the header with this rule.
    #[must_use]
    pub fn rule(mut self, name: impl Into<String>, spec: RuleSpec) -> Self {
        self.rules.insert(name.into(), spec);
        self
    }

    /// Returns the header with this number of nodes.
    #[must_use]
    pub fn nodes(self, nodes: u32) -> Self {
        Self { nodes: Some(nodes), ..self }
    }

    /// Returns the header with an outage of the store.
    #[must_use]
    pub fn outage(mut self, from_us: u64, until_us: u64, policy: OutagePolicy) -> Self {
        self.outages.push(OutageSpan { from_us, until_us, policy });
        self
    }

    /// Returns the header with a loss of the store's state.
    #[must_use]
    pub fn loss(mut self, from_us: u64, until_us: u64) -> Self {
        self.state_losses.push(Loss { from_us, until_us });
        self
    }

    /// Returns the header of nodes that do not charge back their own admissions.
    #[must_use]
    pub fn never_charged_back(self) -> Self {
        Self { charged_back: Some(false), ..self }
    }

    /// Merges another header, of a second file or from the command line.
    ///
    /// An error if the two contradict each other.
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

    /// Checks for values that are impossible in any run.
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

/// The error of an invalid header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderError {
    what: String,
}

impl HeaderError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }

    /// The error of two different definitions of one rule.
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

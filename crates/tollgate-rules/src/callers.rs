//! What others than the file say of single callers.

use std::fmt;
use std::sync::Arc;

use tollgate::Store;

use crate::directory::{Assigned, During, Listed, Listing, Standing};
use crate::tollgate::Tollgate;

/// Why nothing could be said of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerError {
    /// The rules have no identity of this name.
    UnknownIdentity {
        /// The name.
        identity: Box<str>,
    },
    /// The value is nothing that this identity can be.
    NotACaller {
        /// The identity's name.
        identity: Box<str>,
    },
    /// The rules have no tier of this name.
    UnknownTier {
        /// The name.
        tier: Box<str>,
    },
}

impl fmt::Display for CallerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownIdentity { identity } => write!(
                f,
                "no rule knows the identity `{}`; use one that the rule file defines or keys on",
                identity.escape_debug()
            ),
            Self::NotACaller { identity } => write!(
                f,
                "the value is nothing that the identity `{identity}` can be; send it as a request would"
            ),
            Self::UnknownTier { tier } => write!(
                f,
                "there is no tier `{}`; use one that the rule file defines",
                tier.escape_debug()
            ),
        }
    }
}

impl std::error::Error for CallerError {}

impl<S: Store> Tollgate<S> {
    /// Gives a caller another tier for a time, from the next request on. What it has used carries over.
    ///
    /// It is stronger than what the rule file says of the caller, and stays when rules are replaced.
    ///
    /// ```
    /// use tollgate::Limiter;
    /// use tollgate_rules::{During, Request, RuleSet, Tollgate, Value};
    ///
    /// let rules = RuleSet::parse("
    /// identify: { tier: { default: free } }
    /// tiers: { free: { api: 1/min }, gold: { api: 1000/min } }
    /// rules: [{ name: api, key: user, limit: { tier: api } }]
    /// ")?;
    /// let gate = Tollgate::new(Limiter::in_memory(), rules);
    /// let user = [("user", Value::Text("42"))];
    /// let request = Request::new().attributes(&user);
    /// let allowed = || gate.decide_now(&request, |answer| answer.is_allowed());
    /// assert_eq!([allowed()?, allowed()?], [true, false]);
    /// gate.assign_tier("user", "42", "gold", During::default())?;
    /// assert!(allowed()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn assign_tier(
        &self,
        identity: &str,
        value: &str,
        tier: &str,
        during: During,
    ) -> Result<(), CallerError> {
        let (rules, now) = (self.rules(), self.now());
        let unknown = || CallerError::UnknownTier { tier: tier.into() };
        let tiers = rules.tiers.as_ref().ok_or_else(unknown)?;
        let tier = tiers.named(tier).map(|tier| tiers.name(tier)).ok_or_else(unknown)?;
        let subject = self.subject(identity, value)?;
        let known = self.directory().get(identity, &subject);
        let known = known.or_else(|| rules.directory.get(identity, &subject));
        let before = known.as_ref().and_then(|known| known.tier_at(now));
        let before = before.map_or_else(|| tiers.default_name(), |before| Arc::clone(&before.tier));
        let before = (*before != *tier && during.contains(now)).then_some((before, now));
        self.directory().change(identity, &subject, |standing| {
            standing.tiers.push(Assigned { tier: tier.into(), during, before });
        });
        Ok(())
    }

    /// Puts a caller on the allow-list or the block-list for a time, from the next request on.
    pub fn list(
        &self,
        identity: &str,
        value: &str,
        listing: Listing,
        during: During,
    ) -> Result<(), CallerError> {
        let subject = self.subject(identity, value)?;
        self.directory().change(identity, &subject, |standing| {
            standing.listed.push(Listed { listing, during });
        });
        Ok(())
    }

    /// Forgets what was said of a caller; what the rule file says holds again.
    pub fn forget(&self, identity: &str, value: &str) -> Result<(), CallerError> {
        let subject = self.subject(identity, value)?;
        self.directory().change(identity, &subject, |standing| *standing = Standing::default());
        Ok(())
    }

    fn subject(&self, identity: &str, value: &str) -> Result<Box<[u8]>, CallerError> {
        let rules = self.rules();
        let known = rules.identities.iter().find(|known| &*known.name == identity);
        let known =
            known.ok_or_else(|| CallerError::UnknownIdentity { identity: identity.into() })?;
        known
            .subject(value, &rules.digester)
            .map_err(|_| CallerError::NotACaller { identity: identity.into() })
    }
}

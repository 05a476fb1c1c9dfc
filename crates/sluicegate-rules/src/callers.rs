//! What others than the file say of single callers.

use std::fmt;
use std::sync::Arc;

use sluicegate::{Store, Time};

use crate::directory::{Assigned, During, Listed, Listing, Standing};
use crate::rule_limiter::RuleLimiter;
use crate::ruleset::RuleSet;

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
    /// So much has been said of this caller that nobody can have meant it.
    TooMuch,
    /// The rules have no tier of this name.
    UnknownTier {
        /// The name.
        tier: Box<str>,
    },
}

/// The most tiers that a caller may be given for times that are not over.
const MOST: usize = 64;

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
            Self::TooMuch => write!(
                f,
                "more than {MOST} things have been said of this caller; forget some of them first"
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

impl<S: Store> RuleLimiter<S> {
    /// Gives a caller another tier for a time, from the next request on. What it has used carries over.
    ///
    /// It is stronger than what the rule file says of the caller, and stays when rules are replaced
    /// (as long as they have the same `secret`, if the identity is one).
    ///
    /// ```
    /// use sluicegate::Limiter;
    /// use sluicegate_rules::{During, Request, RuleSet, RuleLimiter, Value};
    ///
    /// let rules = RuleSet::parse("
    /// identify: { tier: { default: free } }
    /// tiers: { free: { api: 1/min }, gold: { api: 1000/min } }
    /// rules: [{ name: api, key: user, limit: { tier: api } }]
    /// ")?;
    /// let gate = RuleLimiter::new(Limiter::in_memory(), rules)?;
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
        let had = self.tier_of(identity, &subject, &rules, now);
        let known = self.directory().get(identity, &subject);
        if known.is_some_and(|known| known.tiers.len() >= MOST) && during != During::default() {
            return Err(CallerError::TooMuch);
        }
        self.change(identity, &subject, |standing| {
            let always = during == During::default();
            let over = |one: &Assigned| one.during.until.is_some_and(|until| until <= now);
            standing.tiers.retain(|one| !always && !over(one));
            standing.tiers.push(Assigned { tier: tier.into(), during });
            if let Some(had) = had.filter(|had| **had != *tier && during.contains(now)) {
                standing.note_change(had, now);
            }
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
        let (subject, now) = (self.subject(identity, value)?, self.now());
        self.change(identity, &subject, |standing| {
            let over = |one: &Listed| one.during.until.is_some_and(|until| until <= now);
            standing.listed.retain(|one| !over(one) && one.listing != listing);
            standing.listed.push(Listed { listing, during });
        });
        Ok(())
    }

    /// Forgets what was said of a caller; what the rule file says holds again.
    pub fn forget(&self, identity: &str, value: &str) -> Result<(), CallerError> {
        let (subject, rules, now) = (self.subject(identity, value)?, self.rules(), self.now());
        let known = self.directory().get(identity, &subject);
        let had = known.and_then(|known| Some(Arc::clone(&known.tier_at(now)?.tier)));
        self.change(identity, &subject, |standing| {
            let changed = std::mem::take(&mut standing.changed);
            *standing = Standing { changed, ..Standing::default() };
            let has = rules.directory.get(identity, &subject);
            let has = has.and_then(|file| Some(Arc::clone(&file.tier_at(now)?.tier)));
            let has = has.or_else(|| Some(Arc::clone(rules.tiers.as_ref()?.default_name())));
            if let Some(had) = had.filter(|had| Some(had) != has.as_ref()) {
                standing.note_change(had, now);
            }
        });
        Ok(())
    }

    /// The tier that a caller is known to have: by what others say, by the file, or by default.
    fn tier_of(
        &self,
        identity: &str,
        subject: &[u8],
        rules: &RuleSet,
        now: Time,
    ) -> Option<Arc<str>> {
        let known =
            [self.directory().get(identity, subject), rules.directory.get(identity, subject)];
        let mut known = known.iter().flatten();
        let tier = known.find_map(|standing| Some(Arc::clone(&standing.tier_at(now)?.tier)));
        tier.or_else(|| Some(Arc::clone(rules.tiers.as_ref()?.default_name())))
    }

    fn change(&self, identity: &str, subject: &[u8], change: impl FnOnce(&mut Standing)) {
        self.directory().change(identity, subject, change);
        let recovery = self.rules().longest_carried_over();
        let over = self.now().as_micros().saturating_sub(recovery.as_micros());
        self.directory().prune(Time::from_micros(over));
    }

    fn subject(&self, identity: &str, value: &str) -> Result<Box<[u8]>, CallerError> {
        let rules = self.rules();
        let known = rules.identities.iter().find(|known| &*known.name == identity);
        let known =
            known.ok_or_else(|| CallerError::UnknownIdentity { identity: identity.into() })?;
        known
            .subject(value, &rules.digester, rules.folding)
            .map_err(|_| CallerError::NotACaller { identity: identity.into() })
    }
}

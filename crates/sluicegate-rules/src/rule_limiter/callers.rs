//! Tiers and list entries of single callers, set at run time.

use std::fmt;
use std::sync::Arc;

use sluicegate::{Store, Time};

use crate::directory::{Assigned, CallerRecord, ListEntry, ListKind, TimeRange};
use crate::rule_limiter::RuleLimiter;
use crate::rule_set::RuleSet;

/// Why the record of a caller could not be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerError {
    /// The rules have no identity of this name.
    UnknownIdentity {
        /// The name.
        identity: Box<str>,
    },
    /// No request can have this value for the identity.
    InvalidCaller {
        /// The identity's name.
        identity: Box<str>,
    },
    /// The caller already has too many assignments.
    TooMuch,
    /// The rules have no tier of this name.
    UnknownTier {
        /// The name.
        tier: Box<str>,
    },
}

/// The most tier assignments that a caller may have at once.
const MAX_ASSIGNMENTS: usize = 64;

impl fmt::Display for CallerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownIdentity { identity } => write!(
                f,
                "the rules have no identity `{}`; use one that the rule file defines or uses in a key",
                identity.escape_debug()
            ),
            Self::InvalidCaller { identity } => write!(
                f,
                "the value is not valid for the identity `{identity}`; send it as a request would"
            ),
            Self::TooMuch => write!(
                f,
                "this caller already has {MAX_ASSIGNMENTS} tier assignments; remove some of them first"
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
    /// Assigns a tier to a caller for a time, from the next request on. Its usage carries over.
    ///
    /// The assignment takes precedence over the rule file, and survives a replacement of the rules
    /// (if the identity is secret, as long as the `secret` stays the same).
    ///
    /// ```
    /// use sluicegate::Limiter;
    /// use sluicegate_rules::{TimeRange, Request, RuleSet, RuleLimiter, AttributeValue};
    ///
    /// let rules = RuleSet::parse("
    /// identify: { tier: { default: free } }
    /// tiers: { free: { api: 1/min }, gold: { api: 1000/min } }
    /// rules: [{ name: api, key: user, limit: { tier: api } }]
    /// ")?;
    /// let gate = RuleLimiter::new(Limiter::in_memory(), rules)?;
    /// let user = [("user", AttributeValue::Text("42"))];
    /// let request = Request::new().attributes(&user);
    /// let allowed = || gate.check(&request, |answer| answer.is_allowed()).now();
    /// assert_eq!([allowed()?, allowed()?], [true, false]);
    /// gate.assign_tier("user", "42", "gold", TimeRange::default())?;
    /// assert!(allowed()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn assign_tier(
        &self,
        identity: &str,
        value: &str,
        tier: &str,
        during: TimeRange,
    ) -> Result<(), CallerError> {
        let (rules, now) = (self.rules(), self.now());
        let unknown = || CallerError::UnknownTier { tier: tier.into() };
        let tiers = rules.tiers.as_ref().ok_or_else(unknown)?;
        let tier = tiers.named(tier).map(|tier| tiers.name(tier)).ok_or_else(unknown)?;
        let subject = self.subject(identity, value)?;
        let had = self.tier_of(identity, &subject, &rules, now);
        let known = self.directory().get(identity, &subject);
        if known.is_some_and(|known| known.tiers.len() >= MAX_ASSIGNMENTS)
            && during != TimeRange::default()
        {
            return Err(CallerError::TooMuch);
        }
        self.change(identity, &subject, |record| {
            let always = during == TimeRange::default();
            let over = |one: &Assigned| one.during.until.is_some_and(|until| until <= now);
            record.tiers.retain(|one| !always && !over(one));
            record.tiers.push(Assigned { tier: tier.into(), during });
            if let Some(had) = had.filter(|had| **had != *tier && during.contains(now)) {
                record.note_change(had, now);
            }
        });
        Ok(())
    }

    /// Puts a caller on the allow-list or the block-list for a time, from the next request on.
    pub fn list(
        &self,
        identity: &str,
        value: &str,
        listing: ListKind,
        during: TimeRange,
    ) -> Result<(), CallerError> {
        let (subject, now) = (self.subject(identity, value)?, self.now());
        self.change(identity, &subject, |record| {
            let over = |one: &ListEntry| one.during.until.is_some_and(|until| until <= now);
            record.listed.retain(|one| !over(one) && one.listing != listing);
            record.listed.push(ListEntry { listing, during });
        });
        Ok(())
    }

    /// Removes all assignments of a caller; the rule file applies to it again.
    pub fn forget(&self, identity: &str, value: &str) -> Result<(), CallerError> {
        let (subject, rules, now) = (self.subject(identity, value)?, self.rules(), self.now());
        let known = self.directory().get(identity, &subject);
        let had = known.and_then(|known| Some(Arc::clone(&known.tier_at(now)?.tier)));
        self.change(identity, &subject, |record| {
            let changed = std::mem::take(&mut record.changed);
            *record = CallerRecord { changed, ..CallerRecord::default() };
            let has = rules.directory.get(identity, &subject);
            let has = has.and_then(|file| Some(Arc::clone(&file.tier_at(now)?.tier)));
            let has = has.or_else(|| Some(Arc::clone(rules.tiers.as_ref()?.default_name())));
            if let Some(had) = had.filter(|had| Some(had) != has.as_ref()) {
                record.note_change(had, now);
            }
        });
        Ok(())
    }

    /// The tier of a caller: as assigned at run time, by the file, or by default.
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
        let tier = known.find_map(|record| Some(Arc::clone(&record.tier_at(now)?.tier)));
        tier.or_else(|| Some(Arc::clone(rules.tiers.as_ref()?.default_name())))
    }

    fn change(&self, identity: &str, subject: &[u8], change: impl FnOnce(&mut CallerRecord)) {
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
            .subject(value, &rules.hasher, rules.folding)
            .map_err(|_| CallerError::InvalidCaller { identity: identity.into() })
    }
}

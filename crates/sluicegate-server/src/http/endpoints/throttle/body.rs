//! Parses the body of a throttle.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use sluicegate::{Algorithm, Check, Cost, Limit, Limiter, Memory, Quota, Slices};
use sluicegate_http::FieldError;
use sluicegate_rules::closest_word;

use crate::http::json;
use crate::http::json::{ErrorCollector, Fields, FromJson, JsonValue};
use crate::inline_limit::limit;
use crate::limit_cache::LimitCache;

/// The length of the longest quota that is cached.
const MAX_CACHED: usize = 64;

thread_local! {
    /// The limits of bare quotas, by their text.
    static LIMITS: RefCell<LimitCache<String>> = RefCell::default();
}

/// A throttle: key, limit and cost.
#[derive(Debug)]
pub(super) struct ThrottleBody<'a> {
    pub(super) key: Cow<'a, str>,
    pub(super) limit: Arc<Limit>,
    pub(super) algorithm: Algorithm,
    pub(super) cost: Cost,
}

/// A field of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThrottleField {
    Key,
    Quota,
    Algorithm,
    Cost,
    Slices,
    Strict,
}

impl json::JsonField for ThrottleField {
    const ALL: &'static [Self] =
        &[Self::Key, Self::Quota, Self::Algorithm, Self::Cost, Self::Slices, Self::Strict];
    const EXAMPLE: &'static str = r#"{"key":"user:42","quota":"100/min"}"#;

    fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Quota => "quota",
            Self::Algorithm => "algorithm",
            Self::Cost => "cost",
            Self::Slices => "slices",
            Self::Strict => "strict",
        }
    }
}

impl<'a> FromJson<'a> for ThrottleBody<'a> {
    const EXAMPLE: &'static str = r#"[{"key":"user:42","quota":"100/min"}]"#;

    type Field = ThrottleField;

    fn from_fields(fields: &mut Fields<'a, ThrottleField>) -> Result<Self, Vec<FieldError>> {
        let mut errors = ErrorCollector::new(fields);
        let key = errors.key(fields.take(ThrottleField::Key));
        let quota = bare_quota(fields).filter(|text| text.len() <= MAX_CACHED);
        if let Some(limit) =
            quota.and_then(|text| LIMITS.with_borrow(|limits| limits.get(text).cloned()))
        {
            let cost = errors.cost(fields.take(ThrottleField::Cost));
            let algorithm = Algorithm::TokenBucket;
            return errors.finish(key.map(|key| Self { key, limit, algorithm, cost }));
        }
        let text = quota.map(str::to_owned);
        let quota = errors.quota(fields.take(ThrottleField::Quota));
        let algorithm = errors.algorithm(fields.take(ThrottleField::Algorithm));
        let cost = errors.cost(fields.take(ThrottleField::Cost));
        let slices = errors.slices(
            algorithm,
            fields.take(ThrottleField::Slices),
            fields.take(ThrottleField::Strict),
        );
        let limit = errors.limit(quota, algorithm, slices).map(Arc::new);
        if let (Some(text), Some(limit)) = (text, &limit) {
            LIMITS.with_borrow_mut(|limits| limits.insert(text, Arc::clone(limit)));
        }
        let read = match (key, limit, algorithm) {
            (Some(key), Some(limit), Some(algorithm)) => Some(Self { key, limit, algorithm, cost }),
            _ => None,
        };
        errors.finish(read)
    }
}

/// Returns the quota if no other field describes the limit, the usual case.
fn bare_quota<'f>(fields: &'f Fields<'_, ThrottleField>) -> Option<&'f str> {
    let others = [ThrottleField::Algorithm, ThrottleField::Slices, ThrottleField::Strict];
    match fields.get(ThrottleField::Quota) {
        Some(JsonValue::Text(text)) if others.iter().all(|other| fields.get(*other).is_none()) => {
            Some(text)
        }
        _ => None,
    }
}

impl ThrottleBody<'_> {
    /// Returns its check.
    pub(super) fn check(&self) -> Check<'_> {
        Check::new(&self.limit, self.key.as_ref()).cost(self.cost)
    }
}

impl ErrorCollector {
    fn key<'a>(&mut self, found: Option<JsonValue<'a>>) -> Option<Cow<'a, str>> {
        const MAX: usize = Limiter::<Memory>::MAX_KEY;
        let detail = match found {
            Some(JsonValue::Text(key)) if key.is_empty() => {
                "it is empty; send the key of a counter, as in \"user:42\"".to_owned()
            }
            Some(JsonValue::Text(key)) if key.len() > MAX => {
                format!("it has {} bytes; use at most {MAX}, or a digest of it", key.len())
            }
            Some(JsonValue::Text(key)) => return Some(key),
            Some(found) => format!("found {found}; use a string, as in \"user:42\""),
            None => "it is missing; send the key of a counter, as in \"user:42\"".to_owned(),
        };
        self.add(ThrottleField::Key, detail)
    }

    fn cost(&mut self, found: Option<JsonValue<'_>>) -> Cost {
        self.units(ThrottleField::Cost, found, 0).unwrap_or(Cost::ONE)
    }

    fn quota(&mut self, found: Option<JsonValue<'_>>) -> Option<Quota> {
        let detail = match found {
            Some(JsonValue::Text(text)) => match text.parse() {
                Ok(quota) => return Some(quota),
                Err(error) => error.to_string(),
            },
            Some(found) => format!("found {found}; use a string, as in \"100/min burst 20\""),
            None => "it is missing; send an amount per time, as in \"100/min\"".to_owned(),
        };
        self.add(ThrottleField::Quota, detail)
    }

    fn algorithm(&mut self, found: Option<JsonValue<'_>>) -> Option<Algorithm> {
        let Some(found) = found else { return Some(Algorithm::TokenBucket) };
        let names = Algorithm::ALL.map(Algorithm::as_str);
        let detail = match &found {
            JsonValue::Text(name) => match Algorithm::named(name) {
                Some(algorithm) => return Some(algorithm),
                None if matches!(name.as_ref(), "concurrency" | "cooldown") => {
                    format!("`{name}` has no quota, so it cannot be used here")
                }
                None => {
                    let meant = closest_word(name, names);
                    let meant =
                        meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
                    let name: String = name.chars().take(60).collect();
                    format!("there is no algorithm `{name}`{meant}")
                }
            },
            found => format!("found {found}"),
        };
        self.add(ThrottleField::Algorithm, format!("{detail}; use one of {}", names.join(", ")))
    }

    fn slices(
        &mut self,
        algorithm: Option<Algorithm>,
        slices: Option<JsonValue<'_>>,
        strict: Option<JsonValue<'_>>,
    ) -> Option<Slices> {
        const MAX: u32 = Limit::MAX_SLICES;
        if let Some(algorithm) = algorithm.filter(|known| *known != Algorithm::SlidingWindow) {
            for (field, found) in
                [(ThrottleField::Slices, &slices), (ThrottleField::Strict, &strict)]
            {
                if found.is_some() {
                    let detail = format!(
                        "it is for sliding_window only, and the algorithm is {}; leave it out",
                        algorithm.as_str()
                    );
                    let _: Option<()> = self.add(field, detail);
                }
            }
        }
        let count = match slices {
            None => Some(1),
            Some(JsonValue::Whole(count @ 1..)) if count <= u64::from(MAX) => {
                u32::try_from(count).ok()
            }
            Some(found) => {
                let detail = format!("found {found}; use a whole number from 1 to {MAX}");
                self.add(ThrottleField::Slices, detail)
            }
        };
        let strict = match strict {
            None => Some(false),
            Some(JsonValue::Bool(strict)) => Some(strict),
            Some(found) => {
                self.add(ThrottleField::Strict, format!("found {found}; use true or false"))
            }
        };
        Some(if strict? { Slices::Strict(count?) } else { Slices::Weighted(count?) })
    }

    fn limit(
        &mut self,
        quota: Option<Quota>,
        algorithm: Option<Algorithm>,
        slices: Option<Slices>,
    ) -> Option<Limit> {
        let (algorithm, quota, slices) = (algorithm?, quota?, slices?);
        let error = match limit(algorithm, quota, slices) {
            Ok(limit) => return Some(limit),
            // Only the reason, because the name of the limit is internal.
            Err(error) => error.reason().to_string(),
        };
        // If the quota is valid without slices, the error is that of the slices.
        let undivided = match slices {
            Slices::Weighted(_) => Slices::Weighted(1),
            Slices::Strict(_) => Slices::Strict(1),
        };
        let quota_is_valid = limit(algorithm, quota, undivided).is_ok();
        self.add(if quota_is_valid { ThrottleField::Slices } else { ThrottleField::Quota }, error)
    }
}

//! What a body asks for, or everything that is wrong with it.

use std::borrow::Cow;
use std::sync::Arc;

use sluicegate::{Check, Cost, Limit, Limiter, Memory, Quota, Slices};
use sluicegate_rules::{Algorithm, closest_word};

use super::limits;
use crate::http::problem::Mistake;
use crate::http::reading::{self, Fields, Found, Listed, Reader};
use crate::throttled::limit;

/// What a body asks for.
#[derive(Debug)]
pub(super) struct Throttle<'a> {
    pub(super) key: Cow<'a, str>,
    pub(super) limit: Arc<Limit>,
    pub(super) algorithm: Algorithm,
    pub(super) cost: Cost,
}

/// A field that a body may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Key,
    Quota,
    Algorithm,
    Cost,
    Slices,
    Strict,
}

impl reading::Field for Field {
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

impl<'a> Listed<'a> for Throttle<'a> {
    const EXAMPLE: &'static str = r#"[{"key":"user:42","quota":"100/min"}]"#;

    type Field = Field;

    fn of(fields: &mut Fields<'a, Field>) -> Result<Self, Vec<Mistake>> {
        let mut reader = Reader::of(fields);
        let key = reader.key(fields.take(Field::Key));
        if let Some(limit) = bare_quota(fields).and_then(limits::known) {
            let cost = reader.cost(fields.take(Field::Cost));
            let algorithm = Algorithm::TokenBucket;
            return reader.finish(key.map(|key| Self { key, limit, algorithm, cost }));
        }
        let text = bare_quota(fields).map(str::to_owned);
        let quota = reader.quota(fields.take(Field::Quota));
        let algorithm = reader.algorithm(fields.take(Field::Algorithm));
        let cost = reader.cost(fields.take(Field::Cost));
        let slices =
            reader.slices(algorithm, fields.take(Field::Slices), fields.take(Field::Strict));
        let limit = reader.limit(quota, algorithm, slices).map(Arc::new);
        if let (Some(text), Some(limit)) = (text, &limit) {
            limits::keep(text, limit);
        }
        let read = match (key, limit, algorithm) {
            (Some(key), Some(limit), Some(algorithm)) => Some(Self { key, limit, algorithm, cost }),
            _ => None,
        };
        reader.finish(read)
    }
}

/// The quota, where nothing else is said about the limit, which is usual.
fn bare_quota<'f>(fields: &'f Fields<'_, Field>) -> Option<&'f str> {
    let others = [Field::Algorithm, Field::Slices, Field::Strict];
    match fields.get(Field::Quota) {
        Some(Found::Text(text)) if others.iter().all(|other| fields.get(*other).is_none()) => {
            Some(text)
        }
        _ => None,
    }
}

impl Throttle<'_> {
    /// The one check that it is.
    pub(super) fn check(&self) -> Check<'_> {
        Check::new(&self.limit, self.key.as_ref()).cost(self.cost)
    }
}

impl Reader {
    fn key<'a>(&mut self, found: Option<Found<'a>>) -> Option<Cow<'a, str>> {
        const LONGEST: usize = Limiter::<Memory>::MAX_KEY;
        let detail = match found {
            Some(Found::Text(key)) if key.is_empty() => {
                "it is empty; say who is asking, as in \"user:42\"".to_owned()
            }
            Some(Found::Text(key)) if key.len() > LONGEST => {
                format!("it has {} bytes; use at most {LONGEST}, or a digest of it", key.len())
            }
            Some(Found::Text(key)) => return Some(key),
            Some(found) => format!("found {found}; use a string, as in \"user:42\""),
            None => "it is missing; say who is asking, as in \"user:42\"".to_owned(),
        };
        self.refuse(Field::Key, detail)
    }

    fn cost(&mut self, found: Option<Found<'_>>) -> Cost {
        self.units(Field::Cost, found, 0).unwrap_or(Cost::ONE)
    }

    fn quota(&mut self, found: Option<Found<'_>>) -> Option<Quota> {
        let detail = match found {
            Some(Found::Text(text)) => match text.parse() {
                Ok(quota) => return Some(quota),
                Err(error) => error.to_string(),
            },
            Some(found) => format!("found {found}; use a string, as in \"100/min burst 20\""),
            None => "it is missing; say how much per how long, as in \"100/min\"".to_owned(),
        };
        self.refuse(Field::Quota, detail)
    }

    fn algorithm(&mut self, found: Option<Found<'_>>) -> Option<Algorithm> {
        let Some(found) = found else { return Some(Algorithm::TokenBucket) };
        let names = Algorithm::ALL.map(Algorithm::as_str);
        let detail = match &found {
            Found::Text(name) => match Algorithm::named(name) {
                Some(algorithm) => return Some(algorithm),
                None if matches!(name.as_ref(), "concurrency" | "cooldown") => {
                    format!("`{name}` has no quota, so it cannot be asked for here")
                }
                None => {
                    let meant = closest_word(name, names);
                    let meant =
                        meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
                    let shown: String = name.chars().take(60).collect();
                    format!("there is no algorithm `{shown}`{meant}")
                }
            },
            found => format!("found {found}"),
        };
        self.refuse(Field::Algorithm, format!("{detail}; use one of {}", names.join(", ")))
    }

    fn slices(
        &mut self,
        algorithm: Option<Algorithm>,
        slices: Option<Found<'_>>,
        strict: Option<Found<'_>>,
    ) -> Option<Slices> {
        const MOST: u32 = Limit::MAX_SLICES;
        if let Some(algorithm) = algorithm.filter(|known| *known != Algorithm::SlidingWindow) {
            for (field, found) in [(Field::Slices, &slices), (Field::Strict, &strict)] {
                if found.is_some() {
                    let detail = format!(
                        "it is for sliding_window only, and the algorithm is {}; leave it out",
                        algorithm.as_str()
                    );
                    let _: Option<()> = self.refuse(field, detail);
                }
            }
        }
        let count = match slices {
            None => Some(1),
            Some(Found::Whole(count @ 1..)) if count <= u64::from(MOST) => {
                u32::try_from(count).ok()
            }
            Some(found) => {
                let detail = format!("found {found}; use a whole number from 1 to {MOST}");
                self.refuse(Field::Slices, detail)
            }
        };
        let strict = match strict {
            None => Some(false),
            Some(Found::Bool(strict)) => Some(strict),
            Some(found) => self.refuse(Field::Strict, format!("found {found}; use true or false")),
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
            // Without the name of the limit, which is ours and not the caller's.
            Err(error) => error.reason().to_string(),
        };
        // A quota that would do undivided is not what is wrong.
        let undivided = match slices {
            Slices::Weighted(_) => Slices::Weighted(1),
            Slices::Strict(_) => Slices::Strict(1),
        };
        let quota_is_right = limit(algorithm, quota, undivided).is_ok();
        self.refuse(if quota_is_right { Field::Slices } else { Field::Quota }, error)
    }
}

//! What a body asks for, or everything that is wrong with it.

use std::borrow::Cow;

use tollgate::{Cost, Limit, Limiter, Memory, Quota, Slices};

use super::field::{Field, Fields};
use super::found::Found;
use super::spelling;
use crate::algorithm::Algorithm;
use crate::http::problem::Mistake;

/// What a body asks for.
#[derive(Debug)]
pub(super) struct Throttle<'a> {
    pub(super) key: Cow<'a, str>,
    pub(super) limit: Limit,
    pub(super) algorithm: Algorithm,
    pub(super) cost: Cost,
}

impl<'a> Throttle<'a> {
    /// Reads a body; the error lists all of its mistakes.
    pub(super) fn read(body: &'a [u8]) -> Result<Self, Vec<Mistake>> {
        let mut fields = fields(body).map_err(|detail| vec![Mistake::new("body", detail)])?;
        let mut reader = Reader { mistakes: fields.mistakes() };
        let key = reader.key(fields.take(Field::Key));
        let quota = reader.quota(fields.take(Field::Quota));
        let algorithm = reader.algorithm(fields.take(Field::Algorithm));
        let cost = reader.cost(fields.take(Field::Cost));
        let slices =
            reader.slices(algorithm, fields.take(Field::Slices), fields.take(Field::Strict));
        let limit = reader.limit(quota, algorithm, slices);
        match (key, limit, algorithm, cost) {
            (Some(key), Some(limit), Some(algorithm), Some(cost)) if reader.mistakes.is_empty() => {
                Ok(Self { key, limit, algorithm, cost })
            }
            _ => Err(reader.mistakes),
        }
    }
}

/// The body as an object, or why it is none.
fn fields(body: &[u8]) -> Result<Fields<'_>, String> {
    const EXAMPLE: &str = r#"as in {"key":"user:42","quota":"100/min"}"#;
    let text = str::from_utf8(body).map_err(|error| {
        format!("it is not UTF-8 from byte {} on; send JSON as UTF-8", error.valid_up_to())
    })?;
    let start = text.trim_start();
    if start.is_empty() {
        return Err(format!("it is empty; send an object, {EXAMPLE}"));
    }
    let not_json = |error: serde_json::Error| format!("it is not JSON: {error}");
    if start.starts_with('{') {
        return serde_json::from_str(text).map_err(not_json);
    }
    let found: Found<'_> = serde_json::from_str(text).map_err(not_json)?;
    Err(format!("found {found}; send an object, {EXAMPLE}"))
}

/// Reads fields one after the other; what cannot be used becomes `None` and a mistake.
struct Reader {
    mistakes: Vec<Mistake>,
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
                    let meant = spelling::closest(name, names);
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

    fn cost(&mut self, found: Option<Found<'_>>) -> Option<Cost> {
        let found = match found {
            None => return Some(Cost::ONE),
            Some(Found::Whole(units)) => match Cost::new(units) {
                Ok(cost) => return Some(cost),
                Err(error) => return self.refuse(Field::Cost, error.to_string()),
            },
            Some(found) => found,
        };
        let detail = format!("found {found}; use a whole number from 0 to {}", Cost::MAX);
        self.refuse(Field::Cost, detail)
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
                    self.mistakes.push(field.mistake(detail));
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
        let error = match algorithm.limit(quota, slices) {
            Ok(limit) => return Some(limit),
            // Without the name of the limit, which is ours and not the caller's.
            Err(error) => error.reason().to_string(),
        };
        // A quota that would do undivided is not what is wrong.
        let undivided = match slices {
            Slices::Weighted(_) => Slices::Weighted(1),
            Slices::Strict(_) => Slices::Strict(1),
        };
        let quota_is_right = algorithm.limit(quota, undivided).is_ok();
        self.refuse(if quota_is_right { Field::Slices } else { Field::Quota }, error)
    }

    fn refuse<T>(&mut self, field: Field, detail: String) -> Option<T> {
        self.mistakes.push(field.mistake(detail));
        None
    }
}

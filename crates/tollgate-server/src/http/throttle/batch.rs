//! `POST /v1/throttle/batch`: a list of what `/v1/throttle` takes, answered by a list of verdicts.
//!
//! Each is decided by itself, in the order of the list, and what all need is fetched together.

use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use serde_json::value::RawValue;
use tollgate::{Limiter, Plan, Store};

use super::request::Throttle;
use super::{count, plan, undecided};
use crate::http::problem::{Mistake, Problem};
use crate::http::verdict::Decided;
use crate::http::{Answer, body, json};
use crate::metrics::Metrics;

/// The most requests in a list.
const MOST: usize = 1_000;
/// The most mistakes that are told one by one.
const TOLD: usize = 32;

/// A list of requests; the answer is 200 whatever the verdicts are.
pub(in crate::http) async fn answer<S: Store>(
    limiter: &Limiter<S>,
    metrics: &Metrics,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    let query = request.uri().query().filter(|query| !query.is_empty()).map(|_| {
        Mistake::new("query", "it is always answered 200; leave out what is behind the `?`")
    });
    let body = body::read(request).await?;
    let throttles = match (read(&body), query) {
        (Ok(throttles), None) => throttles,
        (throttles, query) => {
            let mut mistakes: Vec<_> = query.into_iter().collect();
            mistakes.extend(throttles.err().unwrap_or_default());
            return Err(Problem::mistaken(mistakes));
        }
    };
    let plans: Vec<Plan<'_>> = throttles.iter().map(plan).collect();
    let verdicts = limiter.check_plans(&plans).await;
    let mut list = Vec::with_capacity(plans.len() * Decided::USUAL_LENGTH);
    list.push(b'[');
    for ((throttle, plan), verdict) in throttles.iter().zip(&plans).zip(verdicts) {
        let verdict = verdict.map_err(undecided)?;
        count(metrics, throttle, &verdict);
        if list.len() > 1 {
            list.push(b',');
        }
        let (cost, refused) = (throttle.cost, StatusCode::OK);
        Decided { rule: "throttle", plan, verdict: &verdict, cost, refused }.write(&mut list);
    }
    list.push(b']');
    Ok(json(list))
}

/// All requests of a list, or all mistakes in it, each with its place in the list.
fn read(body: &[u8]) -> Result<Vec<Throttle<'_>>, Vec<Mistake>> {
    let wrong = |detail: String| vec![Mistake::new("body", detail)];
    let list: Vec<&RawValue> = serde_json::from_slice(body).map_err(|error| {
        let example = r#"as in [{"key":"user:42","quota":"100/min"}]"#;
        wrong(format!("it is not a list of objects: {error}; send one, {example}"))
    })?;
    if list.len() > MOST {
        let found = list.len();
        return Err(wrong(format!("it has {found} requests; send at most {MOST} at a time")));
    }
    let mut throttles = Vec::with_capacity(list.len());
    let mut mistakes = Vec::new();
    for (place, one) in list.into_iter().enumerate() {
        match Throttle::read(one.get().as_bytes()) {
            Ok(throttle) => throttles.push(throttle),
            Err(found) => mistakes.extend(found.into_iter().map(|mistake| {
                Mistake::new(format!("[{place}].{}", mistake.field), mistake.detail)
            })),
        }
    }
    if mistakes.is_empty() { Ok(throttles) } else { Err(shortened(mistakes)) }
}

/// Of a long list of mistakes, the first few and how many more there are.
fn shortened(mut mistakes: Vec<Mistake>) -> Vec<Mistake> {
    let more = mistakes.len().saturating_sub(TOLD);
    mistakes.truncate(TOLD);
    if more > 0 {
        mistakes.push(Mistake::new("body", format!("there are {more} more mistakes")));
    }
    mistakes
}

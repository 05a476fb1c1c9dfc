//! How long whoever calls waits for its answer.

use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::HeaderName;
use sluicegate::Span;
use tonic::Status;

const NAME: HeaderName = HeaderName::from_static("grpc-timeout");
/// What is left for the answer to travel: an answer that comes too late is none.
const MARGIN: Duration = Duration::from_millis(3);
/// What the store gets in any case: less is as good as nothing.
const LEAST: Duration = Duration::from_millis(1);
/// How long a call may take that says nothing: its message has to arrive, and the store has a
/// deadline of its own.
const UNTOLD: Duration = Duration::from_secs(10);

/// How long a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    /// After this it is given up, whatever it waits for.
    pub(super) longest: Duration,
    /// How long a store may take to decide it, where the caller says how long it waits: after
    /// that, the rules say what becomes of it, and there is time left to tell.
    pub(super) store: Option<Span>,
}

impl Patience {
    /// That it took longer.
    pub(super) fn lost(self) -> Status {
        Status::deadline_exceeded(format!(
            "not decided within {} ms, which is as long as there is anybody to wait for it",
            self.longest.as_millis()
        ))
    }
}

/// How long the caller waits.
pub(super) fn patience(headers: &HeaderMap) -> Patience {
    let told = headers.get(NAME).and_then(|text| parse(text.as_bytes()));
    Patience {
        longest: told.unwrap_or(UNTOLD).min(UNTOLD),
        store: told.map(|told| told.saturating_sub(MARGIN).max(LEAST).min(UNTOLD).into()),
    }
}

/// A time as gRPC writes it: up to eight digits, and a unit. What is none counts as not there.
fn parse(text: &[u8]) -> Option<Duration> {
    let (unit, digits) = text.split_last()?;
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count = digits.iter().fold(0, |count, digit| count * 10 + u64::from(digit - b'0'));
    Some(match unit {
        b'H' => Duration::from_secs(count * 3_600),
        b'M' => Duration::from_secs(count * 60),
        b'S' => Duration::from_secs(count),
        b'm' => Duration::from_millis(count),
        b'u' => Duration::from_micros(count),
        b'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_has_to_answer_before_the_caller_stops_waiting() {
        let [ms, ns] = [Duration::from_millis, Duration::from_nanos];
        for (text, longest, store) in [
            ("20m", ms(20), Some(17_000)),
            ("20000u", ms(20), Some(17_000)),
            ("5m", ms(5), Some(2_000)),
            ("1S", ms(1_000), Some(997_000)),
            ("3m", ms(3), Some(1_000)),
            ("1n", ns(1), Some(1_000)),
            ("0m", ms(0), Some(1_000)),
            ("1M", UNTOLD, Some(10_000_000)),
            ("99999999H", UNTOLD, Some(10_000_000)),
            ("123456789m", UNTOLD, None),
            ("m", UNTOLD, None),
            ("-1m", UNTOLD, None),
            ("20", UNTOLD, None),
            ("", UNTOLD, None),
        ] {
            let headers = HeaderMap::from_iter([(NAME, text.parse().unwrap())]);
            let store = store.map(Span::from_micros);
            assert_eq!(patience(&headers), Patience { longest, store }, "{text:?}");
        }
        let untold = Patience { longest: UNTOLD, store: None };
        assert_eq!(patience(&HeaderMap::new()), untold);
    }
}

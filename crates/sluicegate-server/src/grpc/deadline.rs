//! The deadline of a gRPC call, from its `grpc-timeout` header.

use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::HeaderName;
use sluicegate::Span;
use tonic::Status;

const NAME: HeaderName = HeaderName::from_static("grpc-timeout");
/// The time reserved for the response to reach the caller.
const MARGIN: Duration = Duration::from_millis(3);
/// The least time that the store gets; a shorter one would be useless.
const LEAST: Duration = Duration::from_millis(1);
/// The time limit of a call without a timeout.
///
/// It covers the arrival of the message; the store has its own deadline.
const DEFAULT: Duration = Duration::from_secs(10);

/// The time limits of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadlines {
    /// The limit on the whole call.
    pub(super) call: Duration,
    /// The limit on the store, if the caller sets a timeout.
    ///
    /// After it the fallbacks of the rules decide, with time left to send the response.
    pub(super) store: Option<Span>,
}

impl Deadlines {
    /// Returns the status of a call that took longer.
    pub(super) fn exceeded(self) -> Status {
        Status::deadline_exceeded(format!(
            "not decided within {} ms, the deadline of the call",
            self.call.as_millis()
        ))
    }
}

/// Returns the time limits that the headers set.
pub(super) fn deadlines(headers: &HeaderMap) -> Deadlines {
    let timeout = headers.get(NAME).and_then(|text| parse(text.as_bytes()));
    Deadlines {
        call: timeout.unwrap_or(DEFAULT).min(DEFAULT),
        store: timeout.map(|timeout| timeout.saturating_sub(MARGIN).max(LEAST).min(DEFAULT).into()),
    }
}

/// Parses a timeout of gRPC: up to eight digits and a unit; `None` if it is invalid.
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
    fn the_store_has_less_time_than_the_caller_waits() {
        let [ms, ns] = [Duration::from_millis, Duration::from_nanos];
        for (text, call, store) in [
            ("20m", ms(20), Some(17_000)),
            ("20000u", ms(20), Some(17_000)),
            ("5m", ms(5), Some(2_000)),
            ("1S", ms(1_000), Some(997_000)),
            ("3m", ms(3), Some(1_000)),
            ("1n", ns(1), Some(1_000)),
            ("0m", ms(0), Some(1_000)),
            ("1M", DEFAULT, Some(10_000_000)),
            ("99999999H", DEFAULT, Some(10_000_000)),
            ("123456789m", DEFAULT, None),
            ("m", DEFAULT, None),
            ("-1m", DEFAULT, None),
            ("20", DEFAULT, None),
            ("", DEFAULT, None),
        ] {
            let headers = HeaderMap::from_iter([(NAME, text.parse().unwrap())]);
            let store = store.map(Span::from_micros);
            assert_eq!(deadlines(&headers), Deadlines { call, store }, "{text:?}");
        }
        let default = Deadlines { call: DEFAULT, store: None };
        assert_eq!(deadlines(&HeaderMap::new()), default);
    }
}

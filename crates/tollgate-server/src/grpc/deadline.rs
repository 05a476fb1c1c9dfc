//! How long whoever calls waits for its answer.

use std::time::Duration;

use hyper::HeaderMap;
use tonic::Status;

/// What is left for the answer to travel: an answer that comes too late is none.
const MARGIN: Duration = Duration::from_millis(3);
/// How long a call may take that says nothing: its message has to arrive, and the store has a
/// deadline of its own.
const UNTOLD: Duration = Duration::from_secs(10);

/// How long a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    pub(super) longest: Duration,
}

impl Patience {
    /// That it took longer.
    pub(super) fn lost(self) -> Status {
        Status::deadline_exceeded(format!(
            "not decided within {} ms, which is as long as there is an answer to wait for",
            self.longest.as_millis()
        ))
    }
}

/// How long the caller waits, less what the answer needs to get there.
pub(super) fn patience(headers: &HeaderMap) -> Patience {
    let told = headers.get("grpc-timeout").and_then(|text| parse(text.as_bytes()));
    let longest = told.map_or(UNTOLD, |told| told.saturating_sub(MARGIN).min(UNTOLD));
    Patience { longest }
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
    fn the_caller_has_its_answer_before_it_stops_waiting() {
        for (text, longest) in [
            (Some("20m"), Duration::from_millis(17)),
            (Some("20000u"), Duration::from_millis(17)),
            (Some("1S"), Duration::from_millis(997)),
            (Some("3m"), Duration::ZERO),
            (Some("1n"), Duration::ZERO),
            (Some("0m"), Duration::ZERO),
            (Some("99999999H"), UNTOLD),
            (Some("1M"), UNTOLD),
            (Some("123456789m"), UNTOLD),
            (Some("m"), UNTOLD),
            (Some("-1m"), UNTOLD),
            (Some("20"), UNTOLD),
            (Some(""), UNTOLD),
            (None, UNTOLD),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(text) = text {
                headers.insert("grpc-timeout", text.parse().unwrap());
            }
            assert_eq!(patience(&headers), Patience { longest }, "{text:?}");
        }
    }
}

//! `POST /v1/throttle`, and its answers.

use std::net::SocketAddr;

use tollgate::Quota;

use super::keys::name;
use super::stream::{Dialect, Unreadable};
use super::tally::Outcome;

/// Speaks HTTP/1.1.
#[derive(Debug)]
pub(super) struct Http {
    /// What comes before the name of a caller, and what after it.
    before: Vec<u8>,
    after: Vec<u8>,
}

/// The most header lines that an answer may have.
const LINES: usize = 64;

impl Http {
    pub(super) fn new(address: SocketAddr, quota: &Quota) -> Self {
        let (key, after) = ("{\"key\":\"", format!("\",\"quota\":\"{quota}\"}}"));
        let length = key.len() + name(0).len() + after.len();
        let before = format!(
            "POST /v1/throttle HTTP/1.1\r\nhost: {address}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{key}"
        );
        Self { before: before.into_bytes(), after: after.into_bytes() }
    }
}

impl Dialect for Http {
    fn ask(&self, key: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before);
        out.extend_from_slice(&name(key));
        out.extend_from_slice(&self.after);
    }

    fn answer(&self, bytes: &[u8]) -> Result<Option<(usize, Outcome)>, Unreadable> {
        let mut lines = [httparse::EMPTY_HEADER; LINES];
        let mut response = httparse::Response::new(&mut lines);
        let head = match response.parse(bytes) {
            Ok(httparse::Status::Complete(head)) => head,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(Unreadable("something that is not HTTP")),
        };
        let length = response
            .headers
            .iter()
            .find(|line| line.name.eq_ignore_ascii_case("content-length"))
            .and_then(|line| std::str::from_utf8(line.value).ok()?.parse::<usize>().ok())
            .ok_or(Unreadable("an answer without a length"))?;
        let end = head.saturating_add(length);
        if bytes.len() < end {
            return Ok(None);
        }
        let outcome = match response.code {
            Some(200) => Outcome::Allowed,
            Some(429) => Outcome::Refused,
            _ => Outcome::Failed,
        };
        Ok(Some((end, outcome)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http() -> Http {
        Http::new("127.0.0.1:7070".parse().unwrap(), &"5/min".parse().unwrap())
    }

    #[test]
    fn a_request_is_as_long_as_it_says() {
        let mut out = Vec::new();
        http().ask(7, &mut out);
        let text = String::from_utf8(out).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{text}");
        assert!(body.starts_with("{\"key\":\"u000000007\",\"quota\":\"5/"), "{body}");
    }

    #[test]
    fn answers_are_read_when_they_are_whole() {
        for (status, outcome) in
            [(200, Outcome::Allowed), (429, Outcome::Refused), (503, Outcome::Failed)]
        {
            let reply = format!("HTTP/1.1 {status} X\r\nContent-Length: 3\r\n\r\nabc");
            let bytes = format!("{reply}HTTP/1.1 200");
            assert_eq!(http().answer(bytes.as_bytes()), Ok(Some((reply.len(), outcome))));
            for end in 0..reply.len() {
                assert_eq!(http().answer(&reply.as_bytes()[..end]), Ok(None));
            }
        }
        assert!(http().answer(b"+PONG\r\n").is_err());
        assert!(http().answer(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}

//! HTTP/1.1 requests to `/v1/throttle` or another path, and their answers.

use std::net::SocketAddr;

use super::decided_by::DecisionSources;
use super::keys::name;
use super::pipelined::{Codec, InvalidAnswer};
use super::tally::CallOutcome;
use crate::args::BenchArgs;

/// The HTTP/1.1 codec.
#[derive(Debug)]
pub(super) struct HttpCodec {
    /// The request, split at the names of the caller.
    first: String,
    others: Vec<String>,
}

/// The placeholder for the name of the caller.
const CALLER: &str = "{key}";

/// The most header lines that an answer may have.
const LINES: usize = 64;

impl HttpCodec {
    pub(super) fn new(address: SocketAddr, args: &BenchArgs) -> Self {
        let default = || format!("{{\"key\":\"{CALLER}\",\"quota\":\"{}\"}}", args.quota);
        Self::of(address, &args.path, &args.body.clone().unwrap_or_else(default))
    }

    /// Creates a POST request, or a GET request if the body is empty.
    fn of(address: SocketAddr, path: &str, body: &str) -> Self {
        let callers = body.matches(CALLER).count();
        let length = body.len() - callers * CALLER.len() + callers * name(0).len();
        let request = if body.is_empty() {
            format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n")
        } else {
            format!(
                "POST {path} HTTP/1.1\r\nhost: {address}\r\n\
                 content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )
        };
        let mut parts = request.split(CALLER).map(str::to_owned);
        let first = parts.next().unwrap_or_default();
        Self { first, others: parts.collect() }
    }
}

impl Codec for HttpCodec {
    fn encode(&self, key: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(self.first.as_bytes());
        for other in &self.others {
            out.extend_from_slice(&name(key));
            out.extend_from_slice(other.as_bytes());
        }
    }

    fn decode(&self, bytes: &[u8]) -> Result<Option<(usize, CallOutcome)>, InvalidAnswer> {
        let mut lines = [httparse::EMPTY_HEADER; LINES];
        let mut response = httparse::Response::new(&mut lines);
        let head = match response.parse(bytes) {
            Ok(httparse::Status::Complete(head)) => head,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(InvalidAnswer("something that is not HTTP")),
        };
        let length = response
            .headers
            .iter()
            .find(|line| line.name.eq_ignore_ascii_case("content-length"))
            .and_then(|line| std::str::from_utf8(line.value).ok()?.parse::<usize>().ok())
            .ok_or(InvalidAnswer("an answer without a length"))?;
        let end = head.saturating_add(length);
        if bytes.len() < end {
            return Ok(None);
        }
        let outcome = match response.code {
            Some(200) => CallOutcome::Allowed,
            Some(429) => CallOutcome::Refused,
            _ => CallOutcome::Failed,
        };
        Ok(Some((end, outcome)))
    }

    fn count_deciders(&self, answer: &[u8], by: &mut DecisionSources) {
        by.add_json(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http() -> HttpCodec {
        with_body("{\"key\":\"{key}\"}")
    }

    fn with_body(body: &str) -> HttpCodec {
        HttpCodec::of("127.0.0.1:7070".parse().unwrap(), "/of/{key}", body)
    }

    fn request(http: &HttpCodec) -> String {
        let mut out = Vec::new();
        http.encode(7, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn content_length_is_the_length_of_the_body() {
        for (body, expected) in [
            ("{\"key\":\"{key}\"}", "{\"key\":\"u000000007\"}"),
            ("[{key},{key}-1]", "[u000000007,u000000007-1]"),
            ("text", "text"),
        ] {
            let text = request(&with_body(body));
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("POST /of/u000000007 HTTP/1.1\r\n"), "{text}");
            assert!(head.ends_with(&format!("content-length: {}", expected.len())), "{text}");
            assert_eq!(body, expected);
        }
    }

    #[test]
    fn an_empty_body_sends_get() {
        let text = request(&with_body(""));
        assert_eq!(text, "GET /of/u000000007 HTTP/1.1\r\nhost: 127.0.0.1:7070\r\n\r\n");
    }

    #[test]
    fn parses_only_complete_answers() {
        for (status, outcome) in
            [(200, CallOutcome::Allowed), (429, CallOutcome::Refused), (503, CallOutcome::Failed)]
        {
            let reply = format!("HTTP/1.1 {status} X\r\nContent-Length: 3\r\n\r\nabc");
            let bytes = format!("{reply}HTTP/1.1 200");
            assert_eq!(http().decode(bytes.as_bytes()), Ok(Some((reply.len(), outcome))));
            for end in 0..reply.len() {
                assert_eq!(http().decode(&reply.as_bytes()[..end]), Ok(None));
            }
        }
        assert!(http().decode(b"+PONG\r\n").is_err());
        assert!(http().decode(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}

//! `CL.THROTTLE` commands and their replies.

use sluicegate::{Quota, Span};

use super::keys::name;
use super::pipelined::{Codec, InvalidAnswer};
use super::tally::CallOutcome;

/// The codec of the Redis protocol.
#[derive(Debug)]
pub(super) struct RespCodec {
    /// The bytes before and after the name of the caller.
    before: Vec<u8>,
    after: Vec<u8>,
}

impl RespCodec {
    pub(super) fn new(quota: &Quota, period: Span) -> Self {
        let numbers = [
            quota.burst().unwrap_or(quota.amount()).saturating_sub(1),
            quota.amount(),
            period.as_secs_ceil(),
        ];
        let words = numbers.map(|number| number.to_string());
        let words = words.map(|word| format!("${}\r\n{word}\r\n", word.len()));
        let after = words.concat();
        Self {
            before: b"*5\r\n$11\r\nCL.THROTTLE\r\n$10\r\n".to_vec(),
            after: format!("\r\n{after}").into_bytes(),
        }
    }
}

impl Codec for RespCodec {
    fn encode(&self, key: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before);
        out.extend_from_slice(&name(key));
        out.extend_from_slice(&self.after);
    }

    fn decode(&self, bytes: &[u8]) -> Result<Option<(usize, CallOutcome)>, InvalidAnswer> {
        const LINES: usize = 6;
        match bytes.first() {
            None => Ok(None),
            Some(b'-') => Ok(line_end(bytes, 1).map(|end| (end, CallOutcome::Failed))),
            Some(b'*') => Ok(line_end(bytes, LINES).map(|end| {
                let refused = bytes.get(4..6) == Some(b":1");
                (end, if refused { CallOutcome::Refused } else { CallOutcome::Allowed })
            })),
            Some(_) => Err(InvalidAnswer("something that is no reply to CL.THROTTLE")),
        }
    }
}

/// The length of the first `lines` lines, if they are complete.
fn line_end(bytes: &[u8], lines: usize) -> Option<usize> {
    let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.nth(lines - 1).map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_the_command() {
        let quota: Quota = "100/min burst 20".parse().unwrap();
        let mut out = Vec::new();
        RespCodec::new(&quota, Span::from_secs(60)).encode(7, &mut out);
        let expected = "*5\r\n$11\r\nCL.THROTTLE\r\n$10\r\nu000000007\r\n$2\r\n19\r\n$3\r\n100\r\n$2\r\n60\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn parses_only_complete_replies() {
        let quota: Quota = "100/min burst 20".parse().unwrap();
        let resp = RespCodec::new(&quota, Span::from_secs(60));
        for (reply, outcome) in [
            ("*5\r\n:0\r\n:20\r\n:19\r\n:-1\r\n:1\r\n", CallOutcome::Allowed),
            ("*5\r\n:1\r\n:20\r\n:0\r\n:1\r\n:12\r\n", CallOutcome::Refused),
            ("-ERR no\r\n", CallOutcome::Failed),
        ] {
            let bytes = format!("{reply}*5\r\n:0");
            assert_eq!(resp.decode(bytes.as_bytes()), Ok(Some((reply.len(), outcome))));
            for end in 0..reply.len() {
                assert_eq!(resp.decode(&reply.as_bytes()[..end]), Ok(None));
            }
        }
        assert!(resp.decode(b"HTTP/1.1").is_err());
    }
}

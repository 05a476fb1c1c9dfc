//! Splits a server's side of a connection into answers.

use crate::resp::raw::ParseFailure;
use crate::resp::value::RespValue;

/// A piece of a server's stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// One complete answer to a request.
    Reply(Vec<u8>),
    /// A message without a request.
    Push(Vec<u8>),
}

/// Collects bytes and returns them one answer at a time.
///
/// A stream that is not RESP, such as one under TLS, cannot be split into answers; it is returned
/// in the pieces that were received.
#[derive(Default)]
pub(crate) struct Frames {
    collected: Vec<u8>,
    opaque: bool,
}

impl Frames {
    pub(crate) fn collect(&mut self, bytes: &[u8]) {
        self.collected.extend(bytes);
    }

    /// The next answer, if it is complete.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        if !self.opaque {
            match RespValue::read(&self.collected) {
                Ok((value, length)) => {
                    let bytes = self.collected.drain(..length).collect();
                    return Some(match value {
                        RespValue::Push(_) => Frame::Push(bytes),
                        _ => Frame::Reply(bytes),
                    });
                }
                Err(ParseFailure::Incomplete) => return None,
                Err(ParseFailure::Malformed) => self.opaque = true,
            }
        }
        let bytes = std::mem::take(&mut self.collected);
        (!bytes.is_empty()).then_some(Frame::Reply(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::{Frame, Frames};

    fn all(frames: &mut Frames) -> Vec<Frame> {
        std::iter::from_fn(|| frames.next()).collect()
    }

    #[test]
    fn answers_are_returned_whole_for_any_split_of_bytes() {
        let stream = b"+OK\r\n>1\r\n+hi\r\n*2\r\n$1\r\na\r\n%1\r\n+k\r\n#t\r\n$-1\r\n";
        let expected = vec![
            Frame::Reply(b"+OK\r\n".to_vec()),
            Frame::Push(b">1\r\n+hi\r\n".to_vec()),
            Frame::Reply(b"*2\r\n$1\r\na\r\n%1\r\n+k\r\n#t\r\n".to_vec()),
            Frame::Reply(b"$-1\r\n".to_vec()),
        ];
        for size in 1..=stream.len() {
            let mut frames = Frames::default();
            let mut seen = Vec::new();
            for piece in stream.chunks(size) {
                frames.collect(piece);
                seen.extend(all(&mut frames));
            }
            assert_eq!(seen, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_stream_that_is_not_resp_is_returned_as_received() {
        let mut frames = Frames::default();
        for piece in [&b"\x16\x03\x01"[..], b"+OK\r\n+OK\r\n"] {
            frames.collect(piece);
            assert_eq!(all(&mut frames), [Frame::Reply(piece.to_vec())]);
        }
    }
}

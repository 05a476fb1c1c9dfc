//! RESP, the protocol of Redis: `CL.THROTTLE` and `SLUICEGATE.CHECK`.

mod arguments;
mod check;
mod command;
mod connection;
mod parser;
mod pipeline;
mod reply_writer;
mod session;
mod throttle;

use std::error::Error;
use std::sync::Arc;

use self::connection::RespConnection;
use crate::context::Context;
use crate::server::{AcceptedStream, ShutdownSignal};
use crate::store_stats::StoreStats;

/// The state that all RESP connections share.
#[derive(Debug)]
pub(crate) struct Resp<S> {
    context: Arc<Context<S>>,
    password: Option<Arc<str>>,
}

impl<S: StoreStats> Resp<S> {
    pub(crate) fn new(context: Arc<Context<S>>, password: Option<Arc<str>>) -> Self {
        Self { context, password }
    }

    /// Returns the required password, if there is one.
    fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Serves one connection.
    pub(crate) async fn serve(
        self: Arc<Self>,
        stream: AcceptedStream,
        signal: ShutdownSignal,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(RespConnection::new(self, stream, signal).serve().await?)
    }
}

/// Parses a whole number.
#[inline]
fn integer(text: &[u8]) -> Option<i64> {
    // Up to 18 digits cannot overflow.
    if let 1..=18 = text.len()
        && text.iter().all(u8::is_ascii_digit)
    {
        return Some(text.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')));
    }
    str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_parse_as_in_the_standard_library() {
        for text in [
            "0",
            "7",
            "007",
            "15",
            "-1",
            "+3",
            "",
            "-",
            "1.5",
            " 1",
            "1 ",
            "x",
            "1x",
            "999999999999999999",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "-9223372036854775809",
            "٣",
        ] {
            assert_eq!(integer(text.as_bytes()), text.parse().ok(), "{text}");
        }
        assert_eq!(integer(b"\xff"), None);
    }
}

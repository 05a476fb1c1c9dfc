//! The protocol of Redis: `CL.THROTTLE` and `SLUICEGATE.CHECK`.

mod arguments;
mod bench;
mod check;
mod command;
mod connection;
mod parsing;
mod replies;
mod session;
mod throttle;

use std::error::Error;
use std::sync::Arc;

use self::connection::Connection;
use crate::context::Context;
use crate::measured::Measured;
use crate::server::{Begun, Stopping};

/// The commands, and whom they ask.
#[derive(Debug)]
pub(crate) struct Resp<S> {
    context: Arc<Context<S>>,
    password: Option<Arc<str>>,
}

impl<S: Measured> Resp<S> {
    pub(crate) fn new(context: Arc<Context<S>>, password: Option<Arc<str>>) -> Self {
        Self { context, password }
    }

    /// What has to be said first, if anything.
    fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Answers the commands of one connection.
    pub(crate) async fn serve(
        self: Arc<Self>,
        begun: Begun,
        stopping: Stopping,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(Connection::new(self, begun, stopping).serve().await?)
    }
}

/// The whole number that a text is.
#[inline]
fn integer(text: &[u8]) -> Option<i64> {
    // Few digits cannot be too many.
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
    fn numbers_are_read_as_they_are_everywhere() {
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

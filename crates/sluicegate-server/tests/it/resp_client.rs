//! A RESP client that sends raw bytes, and reads one reply at a time.

use std::net::SocketAddr;

pub(crate) use sluicegate_testkit::encode_command as command;
use sluicegate_testkit::{ParseFailure, RawValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One connection.
pub(crate) struct RespClient {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RespReply {
    Simple(String),
    Error(String),
    Integer(i64),
    Text(String),
    Null,
    List(Vec<RespReply>),
    Set(Vec<RespReply>),
    Map(Vec<(RespReply, RespReply)>),
    Verbatim(String),
}

impl RespReply {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(crate) fn ok() -> Self {
        Self::Simple("OK".to_owned())
    }

    /// Returns the reply to a throttle: five numbers.
    pub(crate) fn numbers(numbers: [i64; 5]) -> Self {
        Self::List(numbers.map(Self::Integer).into())
    }

    pub(crate) fn error(text: &str) -> Self {
        Self::Error(text.to_owned())
    }

    fn of(raw: RawValue<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let all = |items: Vec<RawValue<'_>>| items.into_iter().map(Self::of).collect::<Vec<_>>();
        match raw {
            RawValue::Null => Self::Null,
            RawValue::Line(b'+', line) => Self::Simple(text(line)),
            RawValue::Line(b'-', line) => Self::Error(text(line)),
            RawValue::Line(b':', line) => Self::Integer(text(line).parse().unwrap()),
            RawValue::Bulk(b'$', bulk) => Self::Text(text(bulk)),
            RawValue::Bulk(b'=', bulk) => Self::Verbatim(text(bulk.strip_prefix(b"txt:").unwrap())),
            RawValue::Items(b'*', items) => Self::List(all(items)),
            RawValue::Items(b'~', items) => Self::Set(all(items)),
            RawValue::Items(b'%', items) => {
                let items = all(items);
                let pairs = items.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone()));
                Self::Map(pairs.collect())
            }
            other => panic!("unexpected: {other:?}"),
        }
    }

    /// Returns the value of a name in a map, or in a list of pairs.
    pub(crate) fn get(&self, name: &str) -> &Self {
        let name = Self::text(name);
        let found = match self {
            Self::Map(entries) => {
                entries.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
            }
            Self::List(items) => items.chunks(2).find(|pair| pair[0] == name).map(|pair| &pair[1]),
            other => panic!("no map: {other:?}"),
        };
        found.unwrap_or_else(|| panic!("no {name:?} in {self:?}"))
    }
}

/// Encodes a command whose arguments are the words of a text.
pub(crate) fn words(text: &str) -> Vec<u8> {
    command(&text.split(' ').collect::<Vec<_>>())
}

impl RespClient {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), unread: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Closes the sending side; replies may still arrive.
    pub(crate) async fn finish(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// Sends a command of these words, and reads its reply.
    pub(crate) async fn ask(&mut self, text: &str) -> RespReply {
        self.send(words(text)).await;
        self.answer().await
    }

    pub(crate) async fn answer(&mut self) -> RespReply {
        self.try_answer().await.unwrap()
    }

    /// Reads the next reply; `None` if the server has closed the connection.
    pub(crate) async fn try_answer(&mut self) -> Option<RespReply> {
        loop {
            match RawValue::read(&self.unread) {
                Ok((raw, length)) => {
                    let reply = RespReply::of(raw);
                    self.unread.drain(..length);
                    return Some(reply);
                }
                Err(failure) => assert_eq!(failure, ParseFailure::Incomplete, "{:?}", self.unread),
            }
            // A reset counts as the end of the connection.
            if self.stream.read_buf(&mut self.unread).await.unwrap_or(0) == 0 {
                return None;
            }
        }
    }
}

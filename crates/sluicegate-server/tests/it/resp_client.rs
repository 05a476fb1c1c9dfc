//! A RESP client that sends raw bytes, and reads one reply at a time.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// One connection.
pub(crate) struct RespClient {
    stream: BufReader<TcpStream>,
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

/// Encodes a command as an array of bulk strings.
pub(crate) fn command<A: AsRef<[u8]>>(arguments: &[A]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        let argument = argument.as_ref();
        bytes.extend(format!("${}\r\n", argument.len()).bytes());
        bytes.extend_from_slice(argument);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// Encodes a command whose arguments are the words of a text.
pub(crate) fn words(text: &str) -> Vec<u8> {
    command(&text.split(' ').collect::<Vec<_>>())
}

impl RespClient {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { stream: BufReader::new(TcpStream::connect(address).await.unwrap()) }
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
        let mut line = Vec::new();
        // A reset counts as the end of the connection.
        if self.stream.read_until(b'\n', &mut line).await.unwrap_or(0) == 0 {
            return None;
        }
        let line = String::from_utf8(line).unwrap();
        let (kind, rest) = line.strip_suffix("\r\n").unwrap().split_at(1);
        let count = || rest.parse::<usize>().unwrap();
        Some(match kind {
            "+" => RespReply::Simple(rest.to_owned()),
            "-" => RespReply::Error(rest.to_owned()),
            ":" => RespReply::Integer(rest.parse().unwrap()),
            "_" => RespReply::Null,
            "$" if rest == "-1" => RespReply::Null,
            "$" => RespReply::Text(self.text(count()).await),
            "=" => {
                RespReply::Verbatim(self.text(count()).await.strip_prefix("txt:").unwrap().into())
            }
            "*" => RespReply::List(self.answers(count()).await),
            "~" => RespReply::Set(self.answers(count()).await),
            "%" => {
                let items = self.answers(count() * 2).await;
                let pairs = items.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone()));
                RespReply::Map(pairs.collect())
            }
            other => panic!("{other:?} in {line:?}"),
        })
    }

    async fn answers(&mut self, count: usize) -> Vec<RespReply> {
        let mut answers = Vec::new();
        for _ in 0..count {
            answers.push(Box::pin(self.answer()).await);
        }
        answers
    }

    async fn text(&mut self, length: usize) -> String {
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes).await.unwrap();
        assert!(bytes.ends_with(b"\r\n"));
        bytes.truncate(length);
        String::from_utf8(bytes).unwrap()
    }
}

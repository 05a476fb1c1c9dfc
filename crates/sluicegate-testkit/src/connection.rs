//! A small blocking connection to a server; it needs no runtime.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::resp::raw::{ParseFailure, encode_command};
use crate::resp::value::RespValue;

/// The default timeout for an answer; see [`Connection::set_timeout`]. A server that was paused by
/// mistake is noticed, and a busy machine is not mistaken for one.
const PATIENCE: Duration = Duration::from_secs(60);

/// A plain connection with RESP2.
pub struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Connection {
    /// Connects to a server, or to a [`FaultProxy`](crate::FaultProxy).
    pub fn to(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, unread: Vec::new() })
    }

    /// Changes the timeout for answers.
    pub fn set_timeout(&mut self, patience: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(patience))
    }

    /// Whether the other side, as far as is known here, has not closed it.
    pub(crate) fn is_open(&self) -> bool {
        let looked = self.stream.set_nonblocking(true).and_then(|()| self.stream.peek(&mut [0]));
        let open = match looked {
            Ok(length) => length > 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        open && self.stream.set_nonblocking(false).is_ok()
    }

    /// Sends a command and waits for its answer.
    pub fn command(&mut self, words: &[impl AsRef<[u8]>]) -> io::Result<RespValue> {
        self.send(words)?;
        self.receive()
    }

    /// Sends commands in one piece; [`receive`](Self::receive) returns their answers.
    pub fn send_all(&mut self, commands: &[Vec<impl AsRef<[u8]>>]) -> io::Result<()> {
        let request: Vec<u8> = commands.iter().flat_map(|words| encode_command(words)).collect();
        self.send_encoded(&request)
    }

    /// Sends a command; [`receive`](Self::receive) returns its answer.
    pub fn send(&mut self, words: &[impl AsRef<[u8]>]) -> io::Result<()> {
        self.send_encoded(&encode_command(words))
    }

    /// Sends commands that [`encode_command`] has encoded.
    pub fn send_encoded(&mut self, commands: &[u8]) -> io::Result<()> {
        self.stream.write_all(commands)
    }

    /// Waits for the next answer. An answer that timed out is not skipped: it comes first.
    pub fn receive(&mut self) -> io::Result<RespValue> {
        loop {
            match RespValue::read(&self.unread) {
                Ok((value, length)) => {
                    self.unread.drain(..length);
                    return Ok(value);
                }
                Err(ParseFailure::Malformed) => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "what came from the server is not RESP",
                    ));
                }
                Err(ParseFailure::Incomplete) => {
                    let mut piece = [0; 16 * 1024];
                    match self.stream.read(&mut piece)? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        length => self.unread.extend(piece.iter().take(length)),
                    }
                }
            }
        }
    }
}

//! A small HTTP/1.1 client with one connection, which sends bytes as they are.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The timeout of a hang, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to one listener.
pub(crate) struct HttpClient {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

/// A response with its headers in lower case, in their order.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl HttpClient {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    pub(crate) fn close(&mut self) {
        self.stream = None;
    }

    pub(crate) fn post(&mut self, target: &str, body: &str) -> io::Result<HttpResponse> {
        self.send("POST", target, &[], body)
    }

    pub(crate) fn get(&mut self, target: &str) -> io::Result<HttpResponse> {
        self.send("GET", target, &[], "")
    }

    pub(crate) fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<HttpResponse> {
        self.write(method, target, headers, body)?;
        self.read()
    }

    /// Sends a request; the response is left for [`read`](Self::read).
    pub(crate) fn write(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<()> {
        let mut text = format!("{method} {target} HTTP/1.1\r\nhost: harness\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        if self.is_closed() {
            self.stream = None;
        }
        if self.stream.is_none() {
            let stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            self.stream = Some(BufReader::new(stream));
        }
        let stream = self.stream.as_mut().expect("connected above");
        stream.get_mut().write_all(text.as_bytes())
    }

    /// Whether the server has closed the idle connection.
    fn is_closed(&self) -> bool {
        self.peek() == Some(0)
    }

    /// Whether a response has begun to arrive, or the connection has ended.
    pub(crate) fn has_response(&self) -> bool {
        self.peek().is_some()
    }

    /// The number of bytes that can be read at once, up to 1; 0 at the end of the stream.
    fn peek(&self) -> Option<usize> {
        let stream = self.stream.as_ref()?.get_ref();
        let peeked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
        let _ = stream.set_nonblocking(false);
        peeked.ok()
    }

    pub(crate) fn read(&mut self) -> io::Result<HttpResponse> {
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let response = read(stream);
        let close = response.as_ref().is_ok_and(|response| response.has("connection", "close"));
        if close || response.is_err() {
            self.stream = None;
        }
        response
    }
}

impl HttpResponse {
    fn has(&self, name: &str, value: &str) -> bool {
        self.headers.iter().any(|(one, other)| one == name && other == value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn read(stream: &mut BufReader<TcpStream>) -> io::Result<HttpResponse> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "not a response of HTTP/1.1");
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
    let mut headers = Vec::new();
    let mut length = 0;
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        let (name, value) = (name.to_ascii_lowercase(), value.trim().to_owned());
        if name == "content-length" {
            length = value.parse().map_err(|_| wrong())?;
        }
        headers.push((name, value));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(HttpResponse { status, headers, body })
}

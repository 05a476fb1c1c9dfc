//! An HTTP client that sends raw bytes, and reads one response at a time.

use serde_json::Value;
use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// One connection to the server.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { stream: BufReader::new(TcpStream::connect(address).await.unwrap()) }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Closes the sending side; responses may still arrive.
    pub(crate) async fn finish(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: sluicegate\r\n\r\n")).await;
        self.reply().await
    }

    pub(crate) async fn head(&mut self, path: &str) -> Reply {
        self.send(format!("HEAD {path} HTTP/1.1\r\nHost: sluicegate\r\n\r\n")).await;
        let mut reply = self.reply_head().await.unwrap();
        reply.body.clear();
        reply
    }

    pub(crate) async fn post(&mut self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        self.send(posted(path, body)).await;
        self.reply().await
    }

    pub(crate) async fn throttle(&mut self, body: impl AsRef<[u8]>) -> Reply {
        self.post("/v1/throttle", body).await
    }

    pub(crate) async fn reply(&mut self) -> Reply {
        self.try_reply().await.unwrap()
    }

    /// Reads the next response; `None` if the server has closed the connection.
    pub(crate) async fn try_reply(&mut self) -> Option<Reply> {
        let mut reply = self.reply_head().await?;
        let length = reply.header("content-length").map_or(0, |length| length.parse().unwrap());
        reply.body = vec![0; length];
        self.stream.read_exact(&mut reply.body).await.unwrap();
        Some(reply)
    }

    /// Reads the head of the next response.
    pub(crate) async fn reply_head(&mut self) -> Option<Reply> {
        let mut status = None;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            // A reset counts as the end of the connection.
            if self.stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return None;
            }
            let line = line.trim_end();
            match (status, line.split_once(": ")) {
                (None, _) => status = Some(line.split(' ').nth(1).unwrap().parse().unwrap()),
                (Some(_), Some((name, value))) => headers.push((name.into(), value.into())),
                (Some(status), None) => return Some(Reply { status, headers, body: Vec::new() }),
            }
        }
    }
}

/// Returns a complete request with a body.
pub(crate) fn posted(path: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: sluicegate\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

impl Reply {
    /// Returns the value of a header; the name must be in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(other, _)| other == name);
        header.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Returns the body of an error, after checking its required parts.
    pub(crate) fn problem(&self) -> Value {
        let problem = self.json();
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.header("cache-control"), Some("no-store"));
        assert_eq!(problem["type"], "about:blank");
        assert_eq!(problem["status"], self.status);
        assert!(problem["title"].is_string() && problem["detail"].is_string());
        problem
    }
}

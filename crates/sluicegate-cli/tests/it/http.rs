//! HTTP requests like those of curl.

use std::io::{Read, Write};
use std::net::TcpStream;

fn send(address: &str, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAccept: */*\r\n\
         Content-Length: {length}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Connection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The answer to `curl -d body`.
pub(super) fn post(address: &str, path: &str, body: &str) -> String {
    send(address, "POST", path, body)
}

/// The status of the answer to `curl -d body`.
pub(super) fn status(address: &str, path: &str, body: &str) -> String {
    post(address, path, body).split(' ').nth(1).unwrap().to_owned()
}

/// The answer to `curl` without options.
pub(super) fn get(address: &str, path: &str) -> String {
    send(address, "GET", path, "")
}

/// All metrics.
pub(super) fn metrics(address: &str) -> String {
    get(address, "/metrics")
}

//! The front page: what this is, and the line to try it with.

use hyper::HeaderMap;
use hyper::header::HOST;

/// The front page. Its example asks the server under the name the reader asked it by.
pub(super) fn text(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.filter(|host| is_plain(host)).unwrap_or("127.0.0.1:7070");
    format!(
        "sluicegate {version}: a rate limiter

  POST /v1/check           may this request go ahead under the rules? 200: yes, 429: no
  POST /v1/check/batch     many of them at once
  POST /v1/settle          what a request with a reservation really cost
  POST /v1/release         a request that held a slot has ended
  POST /v1/renew           a request that holds a slot is still in flight
  POST /v1/report          a request has failed: for rules that block after failures
  POST /v1/throttle        may this key go ahead under this quota? 200: yes, 429: no
  POST /v1/throttle/batch  many of them at once
       /v1/authorize       for proxies that ask about each request: auth_request, forward_auth
  GET  /healthz            ok
  GET  /readyz             how the store is doing; with ?strict 503 while it is not there
  GET  /metrics            OpenMetrics
  GET  /openapi.json       all of this for machines

try:  curl -i http://{host}/v1/throttle -d '{{\"key\":\"user:42\",\"quota\":\"5/min\"}}'
      (the sixth within a minute is refused)
",
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// Whether a name is nothing but an address: the line is made to be pasted into a shell.
fn is_plain(host: &str) -> bool {
    !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".:-[]".contains(&b))
}

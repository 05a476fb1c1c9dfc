//! The front page: a list of the endpoints, and an example.

use hyper::HeaderMap;
use hyper::header::HOST;

/// Returns the front page; its example uses the host that the reader has requested.
pub(super) fn text(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.filter(|host| is_plain(host)).unwrap_or("127.0.0.1:7070");
    format!(
        "sluicegate {version}: a rate limiter

  POST /v1/check           check a request against the rules; 200: allowed, 429: refused
  POST /v1/check/batch     check a list of requests
  POST /v1/settle          settle a reservation with the actual cost
  POST /v1/release         release the slot of a request that has ended
  POST /v1/renew           renew the slot of a request that is still in flight
  POST /v1/report          report a failed request, for rules that block after failures
  POST /v1/throttle        check a key against a quota; 200: allowed, 429: refused
  POST /v1/throttle/batch  check a list of keys
       /v1/authorize       check a request for a proxy: auth_request, forward_auth
  GET  /healthz            ok
  GET  /readyz             state of the store; 503 with ?strict while it is unavailable
  GET  /metrics            OpenMetrics
  GET  /openapi.json       description of this API

try:  curl -i http://{host}/v1/throttle -d '{{\"key\":\"user:42\",\"quota\":\"5/min\"}}'
      (six at once: the sixth is refused)
",
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// Returns whether a host is safe to be pasted into a shell, as part of the example.
fn is_plain(host: &str) -> bool {
    !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".:-[]".contains(&b))
}

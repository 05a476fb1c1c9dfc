//! Asserts that `ShouldRateLimit` answers any message correctly.
//!
//! The answer is a status for each descriptor that agrees with the whole, or an error of the
//! caller.

#![no_main]

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use prost::Message;
use serde_json::Value;
use sluicegate_fuzz::{GrpcServer, RateLimitRequest, RateLimitResponse};

const OK: u16 = 0;
const INVALID_ARGUMENT: u16 = 3;
const RESOURCE_EXHAUSTED: u16 = 8;

static SERVER: LazyLock<Mutex<GrpcServer>> = LazyLock::new(|| Mutex::new(GrpcServer::start()));

fuzz_target!(|message: &[u8]| {
    let mut server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = RateLimitRequest::decode(message).ok();
    // Twice, so that a failure that needs an existing counter is reproduced by its input alone.
    for _ in 0..2 {
        match server.limit(message) {
            (OK, answer) => {
                let asked = asked.as_ref().expect("what was answered can be read");
                assert_answered(asked, &answer);
            }
            (INVALID_ARGUMENT | RESOURCE_EXHAUSTED, _) => {}
            (status, _) => panic!("ended with {status}: {asked:?}"),
        }
    }
    server.advance(Duration::from_secs(1));
});

fn assert_answered(asked: &RateLimitRequest, answer: &[u8]) {
    let answer = RateLimitResponse::decode(answer).expect("an answer that can be read");
    assert_eq!(answer.statuses.len(), asked.descriptors.len());
    assert!(!asked.domain.is_empty());
    let over = answer.statuses.iter().any(|status| status.code == 2);
    assert!(answer.statuses.iter().all(|status| [1, 2].contains(&status.code)));
    assert_eq!(answer.overall_code, if over { 2 } else { 1 });
    assert_eq!(answer.raw_body.is_empty(), !over);
    if over {
        let body: Value = serde_json::from_slice(&answer.raw_body).expect("a body of JSON");
        assert_eq!(body["status"], 429);
    }
    let typed = answer.response_headers_to_add.iter().any(|header| header.key == "content-type");
    assert_eq!(typed, over);
    for (status, descriptor) in answer.statuses.iter().zip(&asked.descriptors) {
        if let Some(limit) = &status.current_limit {
            assert!(!limit.name.is_empty());
            let own = descriptor.limit.as_ref();
            assert!(own.is_none_or(|own| own.requests_per_unit == limit.requests_per_unit));
        }
    }
}

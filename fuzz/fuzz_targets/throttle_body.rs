//! Asserts that `POST /v1/throttle` answers any body with JSON.
//!
//! The answer is a verdict that agrees with its status, or a problem document.

#![no_main]

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use sluicegate_fuzz::{Reply, Server};

static SERVER: LazyLock<Mutex<Server>> = LazyLock::new(|| Mutex::new(Server::start()));

fuzz_target!(|body: &[u8]| {
    let mut server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    // Twice, so that a failure that needs an existing counter is reproduced by its input alone.
    for _ in 0..2 {
        assert_answered(&server.throttle(body));
    }
    server.advance(Duration::from_secs(1));
});

fn assert_answered(reply: &Reply) {
    let answer: Value = match serde_json::from_slice(&reply.body) {
        Ok(answer) => answer,
        Err(error) => panic!("{error}: {}", String::from_utf8_lossy(&reply.body)),
    };
    match reply.status {
        200 => assert_eq!(answer["allowed"], true, "{answer}"),
        429 => assert_eq!(answer["allowed"], false, "{answer}"),
        400 => assert!(answer["errors"].as_array().is_some_and(|all| !all.is_empty()), "{answer}"),
        413 => assert_eq!(answer["status"], 413, "{answer}"),
        status => panic!("answered with {status}: {answer}"),
    }
}

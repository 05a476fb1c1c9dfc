//! Asserts that the Redis protocol answers any input with valid replies.
//!
//! However the input is split, only whole replies come back, and at most one for each line.

#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use sluicegate_fuzz::RespServer;
use sluicegate_testkit::RawValue;

static SERVER: LazyLock<RespServer> = LazyLock::new(RespServer::start);

fuzz_target!(|data: &[u8]| {
    let Some((cut, bytes)) = data.split_first() else { return };
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let answers = SERVER.ask(&[first, second]);
    let mut rest = &answers[..];
    let mut count = 0;
    while !rest.is_empty() {
        let (_, length) = RawValue::read(rest).unwrap_or_else(|failure| {
            panic!("not an answer ({failure:?}): {:?}", String::from_utf8_lossy(rest));
        });
        rest = &rest[length..];
        count += 1;
    }
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    assert!(count <= lines + 1, "{count} answers to {lines} lines");
    SERVER.advance(Duration::from_secs(60));
});

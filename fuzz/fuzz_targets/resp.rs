//! Asserts that the Redis protocol answers any input with valid replies.
//!
//! However the input is split, only whole replies come back, and at most one for each line.

#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use sluicegate_fuzz::RespServer;

static SERVER: LazyLock<RespServer> = LazyLock::new(RespServer::start);

fuzz_target!(|data: &[u8]| {
    let Some((cut, bytes)) = data.split_first() else { return };
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let answers = SERVER.ask(&[first, second]);
    let mut rest = &answers[..];
    let mut count = 0;
    while !rest.is_empty() {
        rest = behind_answer(rest).unwrap_or_else(|| {
            panic!("not an answer: {:?}", String::from_utf8_lossy(rest));
        });
        count += 1;
    }
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    assert!(count <= lines + 1, "{count} answers to {lines} lines");
    SERVER.advance(Duration::from_secs(60));
});

/// Returns the bytes after the first reply.
fn behind_answer(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.windows(2).position(|two| two == b"\r\n")?;
    let (line, rest) = (&bytes[..end], &bytes[end + 2..]);
    let (kind, text) = line.split_first()?;
    let number = || str::from_utf8(text).ok()?.parse::<i64>().ok();
    let items = match kind {
        b'+' | b'-' | b'_' => 0,
        b':' => return number().map(|_| rest),
        b'$' | b'=' => {
            let Ok(length) = usize::try_from(number()?) else { return Some(rest) };
            return rest.get(length..)?.strip_prefix(b"\r\n");
        }
        b'*' | b'~' => number()?,
        b'%' => number()? * 2,
        _ => return None,
    };
    (0..items).try_fold(rest, |rest, _| behind_answer(rest))
}

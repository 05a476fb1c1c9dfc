//! Tests of `CL.THROTTLE`: replies of redis-cell, counters of `/v1/throttle`.

use std::time::Duration;

use super::resp_client::{RespReply, command, words};
use super::test_server::TestServer;

/// The replies that redis-cell gave to this sequence, but with seconds rounded up.
#[tokio::test]
async fn replies_match_those_of_redis_cell() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    for (asked, expected) in [
        ("CL.THROTTLE a 15 30 60", [0, 16, 15, -1, 2]),
        ("CL.THROTTLE a 15 30 60", [0, 16, 14, -1, 4]),
        ("cl.throttle a 15 30 60 14", [0, 16, 0, -1, 32]),
        ("Cl.Throttle a 15 30 60 1", [1, 16, 0, 2, 32]),
        ("CL.THROTTLE a 15 30 60 0", [0, 16, 0, -1, 32]),
        ("CL.THROTTLE a 15 30 60 3", [1, 16, 0, 6, 32]),
        ("CL.THROTTLE a 15 30 60 -2", [0, 16, 2, -1, 28]),
        ("CL.THROTTLE a 15 30 60 2", [0, 16, 0, -1, 32]),
        ("CL.THROTTLE back 15 30 60 -5", [0, 16, 16, -1, 0]),
        ("CL.THROTTLE back 15 30 60 3", [0, 16, 13, -1, 6]),
        ("CL.THROTTLE back 15 30 60 -9223372036854775808", [0, 16, 16, -1, 0]),
        ("CL.THROTTLE fresh 15 30 60 17", [1, 16, 16, -1, 0]),
        ("CL.THROTTLE fresh 15 30 60 9223372036854775807", [1, 16, 16, -1, 0]),
        ("CL.THROTTLE fresh 15 30 60 0", [0, 16, 16, -1, 0]),
        ("CL.THROTTLE b 0 1 2", [0, 1, 0, -1, 2]),
        ("CL.THROTTLE b 0 1 2", [1, 1, 0, 2, 2]),
        ("CL.THROTTLE fast 9 1000000 1", [0, 10, 9, -1, 1]),
        ("CL.THROTTLE slow 0 1 86400", [0, 1, 0, -1, 86_400]),
        ("CL.THROTTLE signed +1 +1 +1 +1", [0, 2, 1, -1, 1]),
    ] {
        assert_eq!(client.ask(asked).await, RespReply::numbers(expected), "{asked}");
    }
    gate.clock.advance(Duration::from_millis(1_500));
    let later = client.ask("CL.THROTTLE a 15 30 60 0").await;
    assert_eq!(later, RespReply::numbers([0, 16, 0, -1, 31]), "30.5 seconds, rounded up");
}

#[tokio::test]
async fn counters_are_shared_with_http() {
    let gate = TestServer::open().await;
    let (mut redis, mut http) = (gate.resp().await, gate.client().await);
    let body = r#"{"key":"k","quota":"30/min burst 16"}"#;
    assert_eq!(redis.ask("CL.THROTTLE k 15 30 60").await, RespReply::numbers([0, 16, 15, -1, 2]));
    assert_eq!(http.throttle(body).await.json()["remaining"], 14);
    assert_eq!(redis.ask("CL.THROTTLE k 15 30 60").await, RespReply::numbers([0, 16, 13, -1, 6]));
}

#[tokio::test]
async fn errors_have_the_messages_of_redis_cell() {
    const USAGE: &str =
        "Cell error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]";
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    for (asked, expected) in [
        ("CL.THROTTLE", USAGE),
        ("CL.THROTTLE k", USAGE),
        ("CL.THROTTLE k 1 2", USAGE),
        ("CL.THROTTLE k 1 2 3 4 5", USAGE),
        ("CL.THROTTLE k x 2 3", "Cell error: Couldn't parse as integer: x"),
        ("CL.THROTTLE k 1 2.5 3", "Cell error: Couldn't parse as integer: 2.5"),
        ("CL.THROTTLE k 1 2 ", "Cell error: Couldn't parse as integer: "),
        ("CL.THROTTLE k 1 2 3 one", "Cell error: Couldn't parse as integer: one"),
        (
            "CL.THROTTLE k 1 99999999999999999999 3",
            "Cell error: Couldn't parse as integer: 99999999999999999999",
        ),
        ("CL.THROTTLE k 1 0 60", "Cell error: Zero rates are not supported"),
        ("CL.THROTTLE k 1 1 0", "Cell error: Zero rates are not supported"),
        ("CL.THROTTLE k -5 1 60", "Cell error: max_burst is -5; use 0 (one at a time) or more"),
        (
            "CL.THROTTLE k 1 1 -60",
            "Cell error: found -60 as the count or period; use a whole number of at least 1",
        ),
        (
            "CL.THROTTLE k 9999999999 999999937 86400",
            "Cell error: `999999937/day burst 10000000000` cannot be counted exactly; the nearest \
             round amount that can is 1000000000, and with this amount the largest burst is 4503599",
        ),
        (
            "CL.THROTTLE k 4000000000 1 1",
            "Cell error: a bucket of 4000000001 would take more than 35 years to refill; at this \
             rate use a burst of at most 1125899906",
        ),
    ] {
        assert_eq!(client.ask(asked).await, RespReply::error(expected), "{asked}");
    }
    let long = "k".repeat(4_097);
    client.send(command(&["CL.THROTTLE", &long, "1", "1", "1"])).await;
    let expected =
        "Cell error: cannot check a key of 4097 bytes; use at most 4096, or a digest of it";
    assert_eq!(client.answer().await, RespReply::error(expected));
    client.send(command(&["CL.THROTTLE", &long[..4_096], "1", "1", "1"])).await;
    assert_eq!(client.answer().await, RespReply::numbers([0, 2, 1, -1, 1]));
    let letters = "x".repeat(1_000);
    client.send(command(&["CL.THROTTLE", "k", &letters, "1", "1"])).await;
    let RespReply::Error(error) = client.answer().await else { panic!("no error") };
    assert!(error.len() < 200, "{error}");
}

#[tokio::test]
async fn a_key_may_be_any_bytes() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    for key in
        [&b""[..], b"\0", b"\r\n", b"\xff\xfe", b"*1\r\n$4\r\nPING\r\n", "schlüssel".as_bytes()]
    {
        for remaining in [1, 0] {
            client.send(command(&[b"CL.THROTTLE", key, b"1", b"1", b"9"])).await;
            let reset = (2 - remaining) * 9;
            let expected = RespReply::numbers([0, 2, remaining, -1, reset]);
            assert_eq!(client.answer().await, expected, "{key:?}");
        }
    }
}

/// Ten times as many quotas as the cache has slots, so that some share a slot.
#[tokio::test]
async fn many_quotas_in_one_pipeline_are_kept_apart() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    let all = 1..640_i64;
    let sent: Vec<u8> = all
        .clone()
        .flat_map(|burst| words(&format!("CL.THROTTLE k{burst} {burst} 1 10")))
        .collect();
    for taken in 1..=2 {
        client.send(&sent).await;
        for burst in all.clone() {
            let expected = [0, burst + 1, burst + 1 - taken, -1, taken * 10];
            assert_eq!(client.answer().await, RespReply::numbers(expected), "{burst}");
        }
    }
}

#[tokio::test]
async fn a_thousand_pipelined_commands_are_answered_in_order() {
    let gate =
        TestServer::by("rules: [{ name: per-user, key: user, limit: 1000000/hour }]").await.0;
    let mut client = gate.resp().await;
    let mut sent = Vec::new();
    let mut expected = Vec::new();
    let mut left = 10_000;
    for number in 0..1_000 {
        match number % 7 {
            0 => {
                sent.extend(words(&format!("ECHO {number}")));
                expected.push(RespReply::text(&number.to_string()));
            }
            1 => {
                sent.extend(words("CL.THROTTLE k x 1 60"));
                expected.push(RespReply::error("Cell error: Couldn't parse as integer: x"));
            }
            2 => {
                sent.extend(b"PING\r\n\r\n");
                expected.push(RespReply::Simple("PONG".to_owned()));
            }
            3 => {
                sent.extend(words("NONE"));
                let error = "ERR unknown command 'NONE', with args beginning with: ";
                expected.push(RespReply::error(error));
            }
            4 => {
                sent.extend(words("SLUICEGATE.CHECK user 1"));
                expected.push(RespReply::Null);
            }
            _ => {
                sent.extend(words("CL.THROTTLE k 9999 1 1"));
                left -= 1;
                expected.push(RespReply::numbers([0, 10_000, left, -1, 10_000 - left]));
            }
        }
    }
    // In pieces that do not end with a command.
    let (sending, answers) = (async { (sent, expected) }).await;
    for piece in sending.chunks(997) {
        client.send(piece).await;
    }
    let mut checks = 1_000_000;
    for (number, expected) in answers.into_iter().enumerate() {
        let found = client.answer().await;
        if number % 7 == 4 {
            checks -= 1;
            assert_eq!(*found.get("remaining"), RespReply::Integer(checks), "{number}");
        } else {
            assert_eq!(found, expected, "{number}");
        }
    }
}

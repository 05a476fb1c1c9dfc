//! Tests of RESP connections: timeouts, size limits, malformed commands, pipelines.

use std::time::Duration;

use sluicegate_server::Drained;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::resp_client::{RespReply, command, words};
use super::test_server::TestServer;

const ASK: &str = "CL.THROTTLE k 8 9 60";

#[tokio::test]
async fn protocol_errors_end_only_their_own_connection() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    let megabyte = format!("*5\r\n$11\r\nCL.THROTTLE\r\n$1048576\r\n{}", "k".repeat(100_000));
    let long_line = "x".repeat(100_000);
    let long_command = format!(
        "*3\r\n$4\r\nECHO\r\n{}",
        format!("$65536\r\n{}\r\n", "x".repeat(65_536)).repeat(2)
    );
    let http = "this port speaks RESP, and the request is HTTP; send it to the port for HTTP";
    for (sent, expected) in [
        ("*2147483648\r\n", "invalid multibulk length"),
        ("*1025\r\n", "invalid multibulk length"),
        ("*99999999999999999999\r\n", "invalid multibulk length"),
        ("*x\r\n", "invalid multibulk length"),
        ("*1x\r\n", "invalid multibulk length"),
        ("*\r\n", "invalid multibulk length"),
        ("*01\r\n", "invalid multibulk length"),
        ("*1\rx", "invalid multibulk length"),
        ("*--1\r\n", "invalid multibulk length"),
        ("*1\r\n$-1\r\n", "invalid bulk length"),
        ("*1\r\n$65537\r\n", "invalid bulk length"),
        ("*1\r\n$x\r\n", "invalid bulk length"),
        ("*1\r\n$\r\n", "invalid bulk length"),
        ("*1\r\nPING\r\n", "expected '$', got 'P'"),
        ("*1\r\n:1\r\n", "expected '$', got ':'"),
        ("*1\r\n\r\n", "expected '$', got '\\r'"),
        ("*1\r\n$4\r\nPINGPING\r\n", "expected a line end after the bulk of 4 bytes"),
        (&megabyte, "invalid bulk length"),
        (&long_line, "too big inline request"),
        (&long_command, "too big command; send at most 131072 bytes"),
        ("ECHO \"open\r\n", "unbalanced quotes in request"),
        ("ECHO 'open\r\n", "unbalanced quotes in request"),
        ("ECHO \"a\"b\r\n", "unbalanced quotes in request"),
        ("POST /v1/throttle HTTP/1.1\r\nHost: t\r\n\r\n{}", http),
        ("GET / HTTP/1.1\r\nHost: t\r\n\r\n", http),
        ("Host: sluicegate\r\n", http),
    ] {
        let mut other = gate.resp().await;
        // The command before it is answered first.
        other.send(words(ASK)).await;
        other.send(sent).await;
        let start = &sent[..sent.len().min(40)];
        assert!(matches!(other.answer().await, RespReply::List(_)), "{start:?}");
        let error = format!("ERR Protocol error: {expected}");
        assert_eq!(other.answer().await, RespReply::Error(error), "{start:?}");
        assert_eq!(other.try_answer().await, None, "the connection is closed: {start:?}");
        assert_eq!(client.ask("PING").await, RespReply::Simple("PONG".to_owned()));
    }
    let scrape = gate.client().await.get("/metrics").await;
    assert!(
        scrape.text().contains("sluicegate_resp_protocol_errors_total 26\n"),
        "{}",
        scrape.text()
    );
}

#[tokio::test]
async fn inline_commands_are_parsed() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    for (line, expected) in [
        ("ECHO hi\r\n", "hi"),
        ("echo hi\n", "hi"),
        ("  ECHO \t hi  \r\n", "hi"),
        ("\r\n\r\nECHO hi\r\n", "hi"),
        ("ECHO \"a b\"\r\n", "a b"),
        ("ECHO 'a b'\r\n", "a b"),
        ("ECHO \"\"\r\n", ""),
        ("\"ECHO\" \"\\x41\\x4a\\n\\r\\t\\b\\a\\\\\\\"\\q\\xz\"\r\n", "AJ\n\r\t\u{8}\u{7}\\\"qxz"),
        ("ECHO 'it\\'s \\n'\r\n", "it's \\n"),
        ("ECHO a\"b\"\r\n", "ab"),
        ("*0\r\n*-1\r\nECHO hi\r\n", "hi"),
    ] {
        client.send(line).await;
        assert_eq!(client.answer().await, RespReply::text(expected), "{line:?}");
    }
}

#[tokio::test]
async fn a_command_may_arrive_byte_by_byte() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    for byte in [words(ASK), words("PING")].concat() {
        client.send([byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(client.answer().await, RespReply::numbers([0, 9, 8, -1, 7]));
    assert_eq!(client.answer().await, RespReply::Simple("PONG".to_owned()));
}

#[tokio::test]
async fn a_half_closed_connection_still_gets_its_replies() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    client.send([words(ASK), words("PING"), b"*1\r\n$4\r\nPI".to_vec()].concat()).await;
    client.finish().await;
    assert!(matches!(client.answer().await, RespReply::List(_)));
    assert_eq!(client.answer().await, RespReply::Simple("PONG".to_owned()));
    assert_eq!(client.try_answer().await, None);
}

#[tokio::test]
async fn commands_after_quit_are_not_answered() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    client.send([words("PING"), words("QUIT"), words(ASK)].concat()).await;
    assert_eq!(client.answer().await, RespReply::Simple("PONG".to_owned()));
    assert_eq!(client.answer().await, RespReply::ok());
    assert_eq!(client.try_answer().await, None);
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_command_times_out() {
    for half in ["*", "*1\r\n", "*1\r\n$4\r\nPI", "PING", "*1\r\n$4\r\nPING\r"] {
        let gate = TestServer::open().await;
        let mut client = gate.resp().await;
        client.send(half).await;
        assert_eq!(client.try_answer().await, None, "{half:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn idle_connections_stay_open() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    for _ in 0..3 {
        assert_eq!(client.ask("PING").await, RespReply::Simple("PONG".to_owned()));
        tokio::time::advance(Duration::from_secs(3_600)).await;
    }
    assert_eq!(client.ask("PING").await, RespReply::Simple("PONG".to_owned()));
}

/// Unread replies are neither buffered without limit nor waited for without limit.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_is_disconnected() {
    for asked in [words(ASK), words("COMMAND"), b"INFO\r\n".to_vec()] {
        let gate = TestServer::open().await;
        let mut stream = TcpStream::connect(gate.resp).await.unwrap();
        let commands = asked.repeat(1_000);
        let mut sent = 0;
        while stream.write_all(&commands).await.is_ok() {
            sent += commands.len();
            assert!(sent < 1 << 30, "the server reads on although it cannot write");
        }
    }
}

#[tokio::test]
async fn a_deep_pipeline_is_answered_completely() {
    const DEEP: i64 = 20_000;
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    let address = gate.resp;
    let mut other = TcpStream::connect(address).await.unwrap();
    // An incomplete command on another connection must not block this one.
    other.write_all(b"*2\r\n$4\r\nEC").await.unwrap();
    client.send(words("CL.THROTTLE deep 99999 1 1").repeat(usize::try_from(DEEP).unwrap())).await;
    for taken in 1..=DEEP {
        assert_eq!(
            client.answer().await,
            RespReply::numbers([0, 100_000, 100_000 - taken, -1, taken])
        );
    }
}

#[tokio::test]
async fn the_longest_command_is_answered() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    let longest = "x".repeat(65_536);
    client.send(command(&["ECHO", &longest])).await;
    assert_eq!(client.answer().await, RespReply::Text(longest.clone()));
    let half = &longest[..65_000];
    client.send([words("PING"), command(&["PING", half, half]), words("PING")].concat()).await;
    assert_eq!(client.answer().await, RespReply::Simple("PONG".to_owned()));
    let error = "ERR wrong number of arguments for 'ping' command";
    assert_eq!(client.answer().await, RespReply::error(error));
    assert_eq!(client.answer().await, RespReply::Simple("PONG".to_owned()));
    let many: Vec<&str> = ["NONE"].into_iter().chain([""; 1_023]).collect();
    client.send(command(&many)).await;
    assert!(matches!(client.answer().await, RespReply::Error(error) if error.contains("'NONE'")));
}

#[tokio::test]
async fn shutdown_answers_the_read_commands_and_closes() {
    let gate = TestServer::open().await;
    let mut idle = gate.resp().await;
    let mut half = gate.resp().await;
    assert_eq!(idle.ask("PING").await, RespReply::Simple("PONG".to_owned()));
    half.send([&words("PING")[..], b"*1\r\n$4"].concat()).await;
    assert_eq!(half.answer().await, RespReply::Simple("PONG".to_owned()));
    assert_eq!(gate.stop().await.unwrap(), Drained::All);
    assert_eq!(idle.try_answer().await, None);
    assert_eq!(half.try_answer().await, None);
}

#[tokio::test]
async fn a_scrape_counts_commands_by_name() {
    let gate = TestServer::by("rules: [{ name: per-user, key: user, limit: 2/min }]").await.0;
    let mut client = gate.resp().await;
    for asked in ["CL.THROTTLE k 1 1 60", "SLUICEGATE.CHECK user 1", "PING", "NONE", "CL.THROTTLE"]
    {
        client.send(words(asked).repeat(3)).await;
        for _ in 0..3 {
            client.answer().await;
        }
    }
    let scrape = gate.client().await.get("/metrics").await;
    let decided = |outcome: &str| {
        format!(
            "decisions_total{{rule=\"throttle\",algorithm=\"token_bucket\",outcome=\"{outcome}\"}}"
        )
    };
    let by_rule =
        |outcome: &str| format!("decisions_total{{rule=\"per-user\",outcome=\"{outcome}\"}}");
    let asked = |command: &str| format!("resp_commands_total{{command=\"{command}\"}}");
    for (series, value) in [
        (decided("allowed"), 2),
        (decided("refused"), 1),
        (by_rule("allowed"), 2),
        (by_rule("refused"), 1),
        (asked("cl.throttle"), 6),
        (asked("sluicegate.check"), 3),
        (asked("other"), 3),
        (asked("unknown"), 3),
        ("resp_protocol_errors_total".to_owned(), 0),
        ("connections{protocol=\"resp\"}".to_owned(), 1),
    ] {
        let line = format!("sluicegate_{series} {value}");
        assert!(scrape.text().lines().any(|other| other == line), "{line}\n{}", scrape.text());
    }
}

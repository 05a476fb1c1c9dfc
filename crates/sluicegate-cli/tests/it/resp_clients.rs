//! Real Redis clients and the redis-cell module.

use std::path::PathBuf;
use std::process::Command;

use redis::{Connection, RedisResult};
use sluicegate_testkit::{Rng, Server, ServerKind};

use super::external_tools::{printed, tool};
use super::http;
use super::program::{Serving, sluicegate};

/// A server, with its address and its port for the Redis protocol.
fn serving() -> (Serving, String, String) {
    let serving = Serving::start(sluicegate(&["serve", "--http", "127.0.0.1:0", "--log", "warn"]));
    let address = serving.listens("redis");
    let port = address.rsplit_once(':').unwrap().1.to_owned();
    (serving, address, port)
}

fn client(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

#[test]
fn redis_cli_works() {
    let (_serving, _, port) = serving();
    let cli =
        |arguments: &[&str]| printed(Command::new("redis-cli").args(["-p", &port]).args(arguments));
    assert_eq!(cli(&["CL.THROTTLE", "k", "15", "30", "60"]), "0\n16\n15\n-1\n2\n");
    assert_eq!(cli(&["PING"]), "PONG\n");
    let checked = cli(&["-3", "--json", "SLUICEGATE.CHECK", "ip", "203.0.113.9", "COST", "0"]);
    assert!(checked.starts_with("{\"allowed\":1,"), "{checked}");
    assert!(cli(&["GET", "k"]).contains("unknown command 'GET'"));
    assert!(cli(&["COMMAND", "DOCS", "cl.throttle"]).contains("summary"));
    assert!(cli(&["INFO"]).contains("loading:0"));
}

#[test]
fn redis_benchmark_sends_a_hundred_thousand_commands() {
    let (serving, _, port) = serving();
    let output = printed(Command::new("redis-benchmark").args(["-p", &port]).args([
        "-P",
        "16",
        "-n",
        "100000",
        "-r",
        "1000",
        "-q",
        "CL.THROTTLE",
        "key:__rand_int__",
        "99",
        "100",
        "60",
    ]));
    assert!(output.contains("requests per second"), "{output}");
    let scrape = http::get(&serving.address, "/metrics");
    let line = "sluicegate_resp_commands_total{command=\"cl.throttle\"} 100000\n";
    assert!(scrape.contains(line), "{scrape}");
}

#[test]
fn redis_py_works() {
    let (_serving, _, port) = serving();
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", tool("redis-py")).arg(client("redis_py.py")).arg(port);
    assert_eq!(printed(&mut python), "ok\n");
}

#[test]
fn ioredis_works() {
    let (_serving, _, port) = serving();
    let mut node = Command::new("node");
    node.arg(client("ioredis.js")).arg(port).arg(tool("ioredis"));
    assert_eq!(printed(&mut node), "ok\n");
}

fn connected(address: &str) -> Connection {
    redis::Client::open(format!("redis://{address}")).unwrap().get_connection().unwrap()
}

#[test]
fn redis_rs_works() {
    let (_serving, address, _) = serving();
    for version in ["", "/?protocol=resp3"] {
        let mut connection = connected(&format!("{address}{version}"));
        let mut pipeline = redis::pipe();
        for _ in 0..20 {
            pipeline.cmd("CL.THROTTLE").arg(format!("rs{version}")).arg(&[15, 30, 86_400]);
        }
        let answers: Vec<[i64; 5]> = pipeline.query(&mut connection).unwrap();
        let limited: Vec<i64> = answers.iter().map(|answer| answer[0]).collect();
        assert_eq!(limited, [[0; 16].as_slice(), &[1; 4]].concat());
        let checked: std::collections::HashMap<String, redis::Value> =
            redis::cmd("SLUICEGATE.CHECK")
                .arg(&["ip", "203.0.113.9"])
                .query(&mut connection)
                .unwrap();
        assert_eq!(checked["allowed"], redis::Value::Int(1));
    }
}

fn throttle(connection: &mut Connection, key: &str, numbers: &[i64]) -> RedisResult<[i64; 5]> {
    redis::cmd("CL.THROTTLE").arg(key).arg(numbers).query(connection)
}

/// Sends the same calls to redis-cell. Refill is so slow that the time between the two calls does
/// not matter.
#[test]
fn redis_cell_gives_the_same_answers() {
    const SHORTEST_UNIT: i64 = 1_000;
    let module = tool("redis-cell/libredis_cell.so");
    let redis =
        Server::setup(ServerKind::Redis).line(&format!("loadmodule {}", module.display())).start();
    let (_serving, address, _) = serving();
    let mut theirs = connected(&redis.address().to_string());
    let mut ours = connected(&address);
    let mut rng = Rng::new(1);
    let mut next = |below: u64| i64::try_from(rng.below(below)).unwrap();
    let mut limited = 0;
    for key in 0..300 {
        let (max_burst, count) = (next(20), 1 + next(9));
        let rest = next(count.unsigned_abs());
        let period = count * (SHORTEST_UNIT + next(100_000)) + rest;
        let key = format!("key {key}");
        for call in 0..12 {
            let quantity = match next(8) {
                0 if call > 0 => 0,
                1 => max_burst + 1,
                2 => max_burst + 2 + next(3),
                _ => 1 + next(3),
            };
            let numbers = [max_burst, count, period, quantity];
            let expected = throttle(&mut theirs, &key, &numbers).unwrap();
            let found = throttle(&mut ours, &key, &numbers).unwrap();
            assert_eq!(found[..3], expected[..3], "{key} {numbers:?}: call {call}");
            limited += found[0];
            for (found, expected) in found.into_iter().zip(expected).skip(3) {
                // Theirs are truncated and ours rounded up; the rest is elapsed time.
                let more = found - expected;
                let right = if expected < 0 { more == 0 } else { (-60..=61).contains(&more) };
                let right = right && (call > 0 || (0..=1).contains(&more));
                assert!(right, "{key} {numbers:?}: call {call}: {found} for {expected}");
            }
        }
    }
    assert!((500..3_000).contains(&limited), "both answers, often: {limited}");
}

/// Compares the errors for invalid commands.
#[test]
fn redis_cell_gives_the_same_errors() {
    let module = tool("redis-cell/libredis_cell.so");
    let redis =
        Server::setup(ServerKind::Redis).line(&format!("loadmodule {}", module.display())).start();
    let (_serving, address, _) = serving();
    let mut theirs = connected(&redis.address().to_string());
    let mut ours = connected(&address);
    for arguments in [
        &["k"][..],
        &["k", "1", "2"],
        &["k", "1", "2", "3", "4", "5"],
        &["k", "x", "2", "3"],
        &["k", "1", "2.5", "3"],
        &["k", "1", "2", "3", "one"],
        &["k", "1", "99999999999999999999", "3"],
    ] {
        let error = |connection: &mut Connection| {
            let answer: RedisResult<redis::Value> =
                redis::cmd("CL.THROTTLE").arg(arguments).query(connection);
            answer.unwrap_err().to_string()
        };
        assert_eq!(error(&mut ours), error(&mut theirs), "{arguments:?}");
    }
}

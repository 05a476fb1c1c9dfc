//! Tests of each fault of the proxy.

use std::time::Instant;

use sluicegate_testkit::{Connection, Counts, FaultProxy, RespValue, Server, wait_until};

use crate::{LONG, SHORT, assert_closed, assert_hangs, text};

fn server_and_proxy() -> (Server, FaultProxy) {
    let server = Server::redis();
    let proxy = FaultProxy::to(server.address());
    (server, proxy)
}

fn connected(proxy: &FaultProxy) -> Connection {
    Connection::to(proxy.address()).unwrap()
}

/// The number that the server counted to.
fn counted(server: &Server) -> i64 {
    match server.command(&["GET", "calls"]) {
        RespValue::Null => 0,
        number => number.text().parse().unwrap(),
    }
}

#[test]
fn forwards_and_counts() {
    let (_server, proxy) = server_and_proxy();
    assert_eq!(proxy.url(), format!("redis://127.0.0.1:{}", proxy.port()));
    let mut connection = connected(&proxy);
    assert_eq!(connection.command(&["PING"]).unwrap(), text("PONG"));
    assert_eq!(connection.command(&["ECHO", "hello"]).unwrap(), text("hello"));
    let expected = Counts {
        connections: 1,
        bytes_to_server: 14 + 25,
        bytes_to_clients: 7 + 11,
        replies: 2,
        replies_dropped: 0,
    };
    wait_until("all is counted", LONG, || proxy.counts() == expected);
}

#[test]
fn forwards_large_values_and_pipelines() {
    let (_server, proxy) = server_and_proxy();
    let mut connection = connected(&proxy);
    let large = "x".repeat(3_000_000);
    connection.command(&["SET", "large", &large]).unwrap();
    assert_eq!(connection.command(&["GET", "large"]).unwrap(), text(&large));
    for _ in 0..5_000 {
        connection.send(&["INCR", "calls"]).unwrap();
    }
    for expected in 1..=5_000 {
        assert_eq!(connection.receive().unwrap().integer(), expected);
    }
}

#[test]
fn forwards_the_third_version_of_the_protocol_with_messages_in_between() {
    let (server, proxy) = server_and_proxy();
    let mut connection = connected(&proxy);
    assert!(matches!(connection.command(&["HELLO", "3"]).unwrap(), RespValue::Map(_)));
    assert!(matches!(connection.command(&["SUBSCRIBE", "news"]).unwrap(), RespValue::Push(_)));
    server.command(&["PUBLISH", "news", "hello"]);
    let message = RespValue::Push(vec![text("message"), text("news"), text("hello")]);
    assert_eq!(connection.receive().unwrap(), message);
    // A message is no answer, and is not counted as one.
    proxy.swallow_replies(1.0, 1);
    server.command(&["PUBLISH", "news", "hello"]);
    assert_eq!(connection.receive().unwrap(), message);
    connection.send(&["PING"]).unwrap();
    assert_hangs(&mut connection);
    assert_eq!(proxy.counts().replies_dropped, 1);
}

#[test]
fn silence_holds_open_and_new_connections() {
    let (server, proxy) = server_and_proxy();
    let mut open = connected(&proxy);
    open.command(&["PING"]).unwrap();
    proxy.silent();
    let mut new = connected(&proxy);
    for connection in [&mut open, &mut new] {
        connection.send(&["INCR", "calls"]).unwrap();
        assert_hangs(connection);
    }
    assert_eq!(counted(&server), 0);
    proxy.forward();
    open.receive().unwrap();
    new.receive().unwrap();
    assert_eq!(counted(&server), 2);
}

#[test]
fn isolation_spares_the_given_connections_and_closes_the_others_at_its_end() {
    let (server, proxy) = server_and_proxy();
    let mut kept = connected(&proxy);
    kept.command(&["PING"]).unwrap();
    let ids = proxy.connections();
    let mut open = connected(&proxy);
    open.command(&["PING"]).unwrap();
    assert_eq!((ids.len(), proxy.connections().len()), (1, 2));
    proxy.isolate(&ids);
    let mut new = connected(&proxy);
    for connection in [&mut open, &mut new] {
        connection.send(&["INCR", "calls"]).unwrap();
        assert_hangs(connection);
    }
    assert_eq!(kept.command(&["INCR", "calls"]).unwrap().integer(), 1);
    assert_eq!(proxy.heal(), 2);
    assert_closed(&mut open);
    assert_closed(&mut new);
    // Data that was held back is not delivered late.
    assert_eq!(counted(&server), 1);
    assert_eq!(kept.command(&["INCR", "calls"]).unwrap().integer(), 2);
    assert_eq!(connected(&proxy).command(&["INCR", "calls"]).unwrap().integer(), 3);
}

#[test]
fn data_sent_before_a_close_is_delivered() {
    let (server, proxy) = server_and_proxy();
    let mut connection = connected(&proxy);
    connection.command(&["PING"]).unwrap();
    proxy.delay(SHORT);
    connection.send(&["INCR", "calls"]).unwrap();
    drop(connection);
    wait_until("the call is counted", LONG, || counted(&server) == 1);
}

#[test]
fn refusal_closes_connections_and_refuses_new_ones() {
    let (server, proxy) = server_and_proxy();
    let mut open = connected(&proxy);
    open.command(&["PING"]).unwrap();
    proxy.refuse();
    assert_closed(&mut open);
    assert!(Connection::to(proxy.address()).is_err());
    let port = proxy.port();
    proxy.forward();
    assert_eq!(proxy.port(), port);
    assert_eq!(connected(&proxy).command(&["INCR", "calls"]).unwrap().integer(), 1);
    assert_eq!(counted(&server), 1);
}

#[test]
fn a_dropped_reply_was_executed_and_closes_its_connection() {
    let (server, proxy) = server_and_proxy();
    let mut connection = connected(&proxy);
    connection.command(&["INCR", "calls"]).unwrap();
    proxy.drop_replies(1.0, 1);
    connection.send(&["INCR", "calls"]).unwrap();
    connection.send(&["INCR", "calls"]).unwrap();
    assert_closed(&mut connection);
    assert_eq!(counted(&server), 3);
    let Counts { replies, replies_dropped, .. } = proxy.counts();
    assert_eq!((replies, replies_dropped), (1, 1));
}

/// The number of calls that each of twenty connections got answered before it was lost.
fn answered(fraction: f64, seed: u64) -> Vec<usize> {
    let (server, proxy) = server_and_proxy();
    proxy.drop_replies(fraction, seed);
    let answered: Vec<_> = (0..20)
        .map(|_| {
            let mut connection = connected(&proxy);
            (0..10).take_while(|_| connection.command(&["INCR", "calls"]).is_ok()).count()
        })
        .collect();
    // Each was executed, including the lost ones.
    let lost = answered.iter().filter(|count| **count < 10).count();
    assert_eq!(usize::try_from(counted(&server)).unwrap(), answered.iter().sum::<usize>() + lost);
    answered
}

#[test]
fn the_same_seed_drops_the_same_replies() {
    let first = answered(0.1, 7);
    assert!(first.iter().any(|count| *count != first[0]), "each connection has its own luck");
    assert_eq!(first, answered(0.1, 7));
    assert_ne!(first, answered(0.1, 8));
}

#[test]
fn a_swallowed_reply_is_replaced_by_the_next_one() {
    let (_server, proxy) = server_and_proxy();
    proxy.swallow_replies(0.3, 5);
    let mut connection = connected(&proxy);
    for number in 0..100 {
        connection.send(&["ECHO", &number.to_string()]).unwrap();
    }
    wait_until("all were answered", LONG, || {
        let counts = proxy.counts();
        counts.replies + counts.replies_dropped == 100
    });
    let counts = proxy.counts();
    assert!((15..=45).contains(&counts.replies_dropped), "{counts:?}");
    let came: Vec<i64> = (0..counts.replies)
        .map(|_| connection.receive().unwrap().text().parse().unwrap())
        .collect();
    assert!(came.is_sorted());
    // No more data arrives, and the connection stays open.
    assert_hangs(&mut connection);
    proxy.forward();
    assert_eq!(connection.command(&["ECHO", "end"]).unwrap(), text("end"));
}

const REQUESTS: u32 = 200;

#[test]
#[allow(clippy::disallowed_methods, reason = "a delay is a time; only that it is not shorter")]
fn a_delay_applies_per_direction_and_not_per_request() {
    let (_server, proxy) = server_and_proxy();
    let mut connection = connected(&proxy);
    connection.command(&["PING"]).unwrap();
    proxy.delay(SHORT);
    let begin = Instant::now();
    // Many are in flight at a time, as on a long cable.
    for _ in 0..REQUESTS {
        connection.send(&["PING"]).unwrap();
    }
    for _ in 0..REQUESTS {
        connection.receive().unwrap();
    }
    let taken = begin.elapsed();
    assert!(taken >= SHORT * 2, "{taken:?}");
    // One after the other they would take a minute; half of that leaves room for a busy machine.
    assert!(taken < SHORT * REQUESTS, "{taken:?}");
}

#[test]
fn a_delay_stays_when_another_fault_is_switched_and_ends_with_all_faults() {
    let (_server, proxy) = server_and_proxy();
    let mut connection = connected(&proxy);
    proxy.delay(LONG);
    proxy.swallow_replies(0.0, 1);
    connection.send(&["PING"]).unwrap();
    assert_hangs(&mut connection);
    proxy.forward();
    assert_eq!(connected(&proxy).command(&["PING"]).unwrap(), text("PONG"));
}

#[test]
fn kills_the_given_number_of_connections() {
    let (_server, proxy) = server_and_proxy();
    let mut open: Vec<_> = (0..10).map(|_| connected(&proxy)).collect();
    for connection in &mut open {
        connection.command(&["PING"]).unwrap();
    }
    assert_eq!(proxy.kill_connections(0.4), 4);
    let alive = open.iter_mut().filter_map(|open| open.command(&["PING"]).ok()).count();
    assert_eq!(alive, 6);
    assert_eq!(proxy.kill_connections(1.0), 6);
    assert_eq!(proxy.kill_connections(1.0), 0);
    assert_eq!(connected(&proxy).command(&["PING"]).unwrap(), text("PONG"));
}

#[test]
fn a_killed_server_closes_its_connections_and_can_return() {
    let (server, proxy) = server_and_proxy();
    let mut connection = connected(&proxy);
    connection.command(&["PING"]).unwrap();
    server.kill();
    assert_closed(&mut connection);
    let mut connection = connected(&proxy);
    assert_closed(&mut connection);
    server.restart();
    assert_eq!(connected(&proxy).command(&["PING"]).unwrap(), text("PONG"));
}

#[test]
fn a_dropped_proxy_closes_everything() {
    let (_server, proxy) = server_and_proxy();
    let mut connection = connected(&proxy);
    connection.command(&["PING"]).unwrap();
    let address = proxy.address();
    drop(proxy);
    assert_closed(&mut connection);
    assert!(Connection::to(address).is_err());
}

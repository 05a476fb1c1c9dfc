//! Tests that a server starts, pauses, dies, restarts, and leaves nothing behind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sluicegate_testkit::{Connection, Server, ServerKind, free_port, wait_until, wait_until_async};

use crate::{LONG, assert_closed, assert_hangs, text};

#[test]
fn both_servers_answer_with_their_name() {
    for (server, name) in [(Server::redis(), "redis_version"), (Server::valkey(), "valkey_version")]
    {
        let about = server.info("server");
        assert!(about.contains_key(name), "{about:?}");
        assert_eq!(about["process_id"], server.pid().to_string());
        assert_eq!(about["tcp_port"], server.port().to_string());
        let mut connection = Connection::to(server.address()).unwrap();
        assert_eq!(connection.command(&["PING"]).unwrap(), text("PONG"));
    }
}

#[test]
fn a_paused_server_keeps_a_call_waiting_until_it_is_resumed() {
    for kind in ServerKind::ALL {
        let server = Server::setup(kind).start();
        let mut connection = Connection::to(server.address()).unwrap();
        server.pause();
        connection.send(&["INCR", "calls"]).unwrap();
        assert_hangs(&mut connection);
        server.resume();
        assert_eq!(connection.receive().unwrap().integer(), 1);
    }
}

#[test]
fn a_server_can_be_resumed_while_its_own_connection_waits() {
    let server = Server::redis();
    server.pause();
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| server.command(&["PING"]));
        server.resume();
        assert_eq!(answer.join().unwrap(), text("PONG"));
    });
}

#[test]
fn a_killed_server_restarts_empty_on_its_port() {
    for kind in ServerKind::ALL {
        let port = free_port();
        let server = Server::setup(kind).port(port).start();
        assert_eq!(server.port(), port);
        server.command(&["SET", "a", "b"]);
        server.dump();
        let mut connection = Connection::to(server.address()).unwrap();
        let pid = server.pid();
        server.kill();
        assert_closed(&mut connection);
        assert!(Connection::to(server.address()).is_err());
        server.restart();
        assert_ne!(server.pid(), pid);
        assert_eq!(server.port(), port);
        assert_eq!(server.keys(), Vec::<Vec<u8>>::new());
        // Also of a running server.
        server.command(&["SET", "a", "b"]);
        server.restart();
        assert_eq!(server.keys(), Vec::<Vec<u8>>::new());
    }
}

#[test]
fn a_dropped_server_leaves_no_process_and_no_files() {
    let server = Server::redis();
    let (pid, folder) = (server.pid(), folder(&server));
    server.pause();
    drop(server);
    assert!(!is_running(pid));
    assert!(!folder.exists());
}

/// The test below starts this one as a program of its own, which ends without dropping its values.
#[test]
#[ignore = "ends the test program; another test starts it"]
fn a_program_that_ends_at_once() {
    let server = Server::redis();
    println!("\n{} {}", server.pid(), folder(&server).display());
    std::process::abort();
}

#[test]
fn a_server_ends_with_the_test_program() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "lifecycle::a_program_that_ends_at_once"])
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let (pid, folder) = printed
        .lines()
        .find_map(|line| line.split_once(" /"))
        .unwrap_or_else(|| panic!("no server was started: {printed}"));
    let (pid, folder) = (pid.parse().unwrap(), Path::new("/").join(folder));
    wait_until("the server is gone", LONG, || !is_running(pid));
    wait_until("its files are gone", LONG, || !folder.exists());
}

#[test]
fn a_server_that_cannot_start_reports_the_cause() {
    let failed = std::panic::catch_unwind(|| {
        Server::setup(ServerKind::Redis).line("no-such-thing 1").start()
    });
    let message = failed.err().expect("it was not to start");
    let message = message.downcast_ref::<String>().unwrap();
    assert!(message.contains("no-such-thing"), "{message}");
}

#[test]
fn processor_time_grows_with_work() {
    let server = Server::redis();
    let before = server.cpu_time();
    wait_until("work shows", LONG, || {
        server.command(&["EVAL", "for i = 1, 300000 do redis.sha1hex('') end", "0"]);
        server.cpu_time() > before
    });
}

#[test]
fn kills_the_given_number_of_clients() {
    let server = Server::redis();
    let mut clients: Vec<_> = (0..10).map(|_| Connection::to(server.address()).unwrap()).collect();
    for client in &mut clients {
        client.command(&["PING"]).unwrap();
    }
    assert_eq!(server.kill_clients(0.3), 3);
    let alive = clients.iter_mut().filter_map(|client| client.command(&["PING"]).ok()).count();
    assert_eq!(alive, 7);
    assert_eq!(server.kill_clients(1.0), 7);
    // The testkit's own connection is not one of the two.
    let mut last = Connection::to(server.address()).unwrap();
    last.command(&["PING"]).unwrap();
    assert_eq!(server.kill_clients(0.5), 1);
    assert_closed(&mut last);
    assert_eq!(server.command(&["PING"]), text("PONG"));
}

#[test]
fn the_testkit_reconnects_when_the_server_has_closed_its_connection() {
    let server = Server::redis();
    let mut client = Connection::to(server.address()).unwrap();
    client.command(&["CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "YES"]).unwrap();
    wait_until("only this client is left", LONG, || {
        client.command(&["CLIENT", "LIST"]).unwrap().text().lines().count() == 1
    });
    assert_eq!(server.command(&["PING"]), text("PONG"));
    server.kill();
    assert!(server.try_command(&["PING"]).is_err());
}

#[test]
fn waiting_on_a_runtime_lets_other_tasks_run() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let task = tokio::spawn(async {});
        wait_until_async("the task has run", LONG, async || task.is_finished()).await;
    });
}

#[test]
#[should_panic(expected = "waiting until pigs fly")]
fn a_timeout_names_the_condition() {
    wait_until("pigs fly", Duration::ZERO, || false);
}

fn folder(server: &Server) -> PathBuf {
    PathBuf::from(server.command(&["CONFIG", "GET", "dir"]).items()[1].text())
}

fn is_running(pid: u32) -> bool {
    // A process that has ended but was not waited for still has an id.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|line| !line.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

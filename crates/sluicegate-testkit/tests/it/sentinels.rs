//! Tests that sentinels replace a failed primary, and make it a replica later.

use sluicegate_testkit::wait_until;
use sluicegate_testkit::{
    Connection, ConnectionId, FaultProxy, RespValue, Sentinels, Server, ServerKind,
};

use crate::{LONG, assert_closed, assert_hangs, text, with_both};

fn role(server: &Server) -> String {
    server.info("replication")["role"].clone()
}

/// Stores a value and waits until both replicas have it.
fn store(server: &Server, key: &str) {
    assert_eq!(server.command(&["SET", key, "1"]), text("OK"));
    assert_eq!(server.command(&["WAIT", "2", "10000"]).integer(), 2);
}

#[test]
fn a_failover_promotes_a_replica_and_demotes_the_old_primary() {
    with_both(|kind| {
        let all = Sentinels::setup(kind).start();
        assert_eq!((all.primary(), all.servers().len()), (0, 3));
        store(&all.servers()[0], "a");
        assert_eq!(all.kill_primary(), 0);
        let second = all.wait_until_switched(0);
        assert_eq!(all.primary(), second);
        assert_ne!(second, 0);
        let primary = &all.servers()[second];
        assert_eq!((role(primary), primary.command(&["GET", "a"])), ("master".into(), text("1")));
        all.restart(0);
        assert_eq!(role(&all.servers()[0]), "slave");
        assert_eq!(all.servers()[0].keys(), [b"a"]);
    });
}

#[test]
fn the_primary_is_changed_on_request_and_back() {
    with_both(|kind| {
        let all = Sentinels::setup(kind).replicas(1).start();
        for (from, to) in [(0, 1), (1, 0)] {
            assert_eq!(all.fail_over(), from);
            assert_eq!(all.wait_until_switched(from), to);
        }
    });
}

#[test]
fn sentinels_can_fail_and_return() {
    with_both(|kind| {
        let all = Sentinels::setup(kind).start();
        let name = all.sentinels()[0].command(&["SENTINEL", "MYID"]);
        all.sentinels()[0].kill();
        let from = all.kill_primary();
        let to = all.wait_until_switched(from);
        all.restart_sentinel(0);
        assert_eq!(all.sentinels()[0].command(&["SENTINEL", "MYID"]), name);
        all.sentinels()[1].pause();
        // Two of three, including the one that was down.
        assert_eq!(all.primary(), to);
        all.sentinels()[1].resume();
        all.wait_until_settled();
    });
}

#[test]
fn servers_connect_with_passwords_and_users() {
    with_both(|kind| {
        let all = Sentinels::setup(kind)
            .password("secret1")
            .user("reader on >secret2 ~open:* +get")
            .sentinel_password("secret3")
            .sentinel_user("asker on >secret4 +sentinel|get-master-addr-by-name")
            .start();
        let ports = all.sentinel_ports();
        assert_eq!(
            all.url(),
            format!(
                "redis+sentinel://:secret1@127.0.0.1:{},127.0.0.1:{},127.0.0.1:{}/mymaster",
                ports[0], ports[1], ports[2]
            )
        );
        for server in all.servers() {
            let mut client = Connection::to(server.address()).unwrap();
            assert!(matches!(client.command(&["PING"]).unwrap(), RespValue::Error(_)));
            assert_eq!(client.command(&["AUTH", "reader", "secret2"]).unwrap(), text("OK"));
            assert_eq!(client.command(&["GET", "open:a"]).unwrap(), RespValue::Null);
        }
        let mut client = Connection::to(all.sentinels()[0].address()).unwrap();
        assert!(matches!(client.command(&["PING"]).unwrap(), RespValue::Error(_)));
        assert_eq!(client.command(&["AUTH", "secret3"]).unwrap(), text("OK"));
        assert_eq!(client.command(&["AUTH", "asker", "secret4"]).unwrap(), text("OK"));
        let named = client.command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"]).unwrap();
        assert_eq!(named.items(), [text("127.0.0.1"), text(&all.known_port(0).to_string())]);
        // The configuration of a server is kept, including its users.
        let replica = &all.servers()[1];
        replica.restart();
        assert_eq!(role(replica), "slave");
        let mut client = Connection::to(replica.address()).unwrap();
        assert_eq!(client.command(&["AUTH", "reader", "secret2"]).unwrap(), text("OK"));
        all.fail_over();
        assert_ne!(all.wait_until_switched(0), 0);
    });
}

#[test]
fn with_tls_servers_announce_their_tls_port() {
    let all = Sentinels::setup(ServerKind::Redis).tls().start();
    assert!(all.url().starts_with("rediss+sentinel://127.0.0.1:"));
    assert!(all.ca_pem().contains("BEGIN CERTIFICATE"));
    assert_eq!(all.known_port(0), all.servers()[0].tls_port());
    let from = all.fail_over();
    assert_ne!(all.wait_until_switched(from), from);
}

/// A client of the server behind `proxy`, and its connection there.
fn client_through(proxy: &FaultProxy) -> (Connection, ConnectionId) {
    let before = proxy.connections();
    let mut client = Connection::to(proxy.address()).unwrap();
    client.command(&["PING"]).unwrap();
    let mut new = proxy.connections();
    new.retain(|id| !before.contains(id));
    assert_eq!(new.len(), 1, "another client has connected at the same time");
    (client, new[0])
}

#[test]
fn a_primary_can_be_isolated_with_one_client() {
    with_both(|kind| {
        let all = Sentinels::setup(kind).behind_proxies().start();
        assert_eq!(all.known_port(0), all.proxy(0).port());
        store(&all.servers()[0], "a");
        let proxy = all.proxy(0);
        let (mut client, id) = client_through(proxy);
        proxy.isolate(&[id]);
        let to = all.wait_until_switched(0);
        // Both act as the primary for some of the clients.
        assert_eq!(client.command(&["SET", "b", "1"]).unwrap(), text("OK"));
        let mut other = Connection::to(all.proxy(to).address()).unwrap();
        assert_eq!(other.command(&["SET", "c", "1"]).unwrap(), text("OK"));
        let mut shut_out = Connection::to(proxy.address()).unwrap();
        shut_out.send(&["PING"]).unwrap();
        assert_hangs(&mut shut_out);
        assert!(proxy.heal() > 0);
        assert_closed(&mut shut_out);
        all.wait_until_settled();
        assert_eq!(all.primary(), to);
        assert_eq!(all.servers()[0].keys(), [b"a", b"c"]);
    });
}

#[test]
fn a_primary_without_replicas_refuses_writes_if_configured() {
    with_both(|kind| {
        let all = Sentinels::setup(kind).min_replicas(1).behind_proxies().start();
        let (mut client, id) = client_through(all.proxy(0));
        all.proxy(0).isolate(&[id]);
        wait_until("the primary refuses to write", LONG, || {
            let answer = client.command(&["SET", "b", "1"]).unwrap();
            matches!(answer, RespValue::Error(said) if said.starts_with("NOREPLICAS"))
        });
    });
}

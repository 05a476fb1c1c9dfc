//! Tests of the settings of a server.

use sluicegate_testkit::{Connection, RespValue, Server, ServerKind};

use crate::text;

#[test]
fn a_password_is_required_and_part_of_the_url() {
    for kind in ServerKind::ALL {
        let server = Server::setup(kind).password("secret1").start();
        assert_eq!(server.url(), format!("redis://:secret1@127.0.0.1:{}", server.port()));
        let mut connection = Connection::to(server.address()).unwrap();
        assert!(matches!(connection.command(&["PING"]).unwrap(), RespValue::Error(_)));
        assert_eq!(connection.command(&["AUTH", "secret1"]).unwrap(), text("OK"));
        assert_eq!(connection.command(&["PING"]).unwrap(), text("PONG"));
        // The testkit itself has all permissions nevertheless.
        assert_eq!(server.command(&["PING"]), text("PONG"));
    }
}

#[test]
fn users_have_their_permissions() {
    for kind in ServerKind::ALL {
        let server =
            Server::setup(kind).user("reader on >secret ~open:* +get").user("default off").start();
        server.command(&["SET", "open:a", "1"]);
        let mut connection = Connection::to(server.address()).unwrap();
        assert!(matches!(connection.command(&["GET", "open:a"]).unwrap(), RespValue::Error(_)));
        assert_eq!(connection.command(&["AUTH", "reader", "secret"]).unwrap(), text("OK"));
        assert_eq!(connection.command(&["GET", "open:a"]).unwrap(), text("1"));
        for forbidden in [["GET", "closed:a"], ["DEL", "open:a"]] {
            let answer = connection.command(&forbidden).unwrap();
            assert!(
                matches!(&answer, RespValue::Error(said) if said.starts_with("NOPERM")),
                "{answer:?}"
            );
        }
    }
}

#[test]
fn memory_is_bounded_if_configured() {
    for kind in ServerKind::ALL {
        let server = Server::setup(kind).maxmemory(1_000).start();
        assert!(server.used_memory() > 1_000);
        let answer = server.command(&["SET", "a", "1"]);
        assert!(matches!(&answer, RespValue::Error(said) if said.starts_with("OOM")), "{answer:?}");
    }
}

#[test]
fn lines_of_configuration_are_followed() {
    for kind in ServerKind::ALL {
        let server = Server::setup(kind).line("maxclients 17").line("databases 3").start();
        assert_eq!(server.command(&["CONFIG", "GET", "maxclients"]).items()[1].text(), "17");
        assert!(matches!(server.command(&["SELECT", "3"]), RespValue::Error(_)));
    }
}

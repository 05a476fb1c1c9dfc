//! A server is as it was set up.

use sluicegate_testkit::{Connection, Kind, Server, Value};

use crate::text;

#[test]
fn a_password_is_asked_for_and_stands_in_the_url() {
    for kind in Kind::ALL {
        let server = Server::setup(kind).password("secret1").start();
        assert_eq!(server.url(), format!("redis://:secret1@127.0.0.1:{}", server.port()));
        let mut connection = Connection::to(server.address()).unwrap();
        assert!(matches!(connection.command(&["PING"]).unwrap(), Value::Error(_)));
        assert_eq!(connection.command(&["AUTH", "secret1"]).unwrap(), text("OK"));
        assert_eq!(connection.command(&["PING"]).unwrap(), text("PONG"));
        // The testbed itself may do everything all the same.
        assert_eq!(server.command(&["PING"]), text("PONG"));
    }
}

#[test]
fn users_may_do_what_was_said_of_them() {
    for kind in Kind::ALL {
        let server =
            Server::setup(kind).user("reader on >secret ~open:* +get").user("default off").start();
        server.command(&["SET", "open:a", "1"]);
        let mut connection = Connection::to(server.address()).unwrap();
        assert!(matches!(connection.command(&["GET", "open:a"]).unwrap(), Value::Error(_)));
        assert_eq!(connection.command(&["AUTH", "reader", "secret"]).unwrap(), text("OK"));
        assert_eq!(connection.command(&["GET", "open:a"]).unwrap(), text("1"));
        for forbidden in [["GET", "closed:a"], ["DEL", "open:a"]] {
            let answer = connection.command(&forbidden).unwrap();
            assert!(
                matches!(&answer, Value::Error(said) if said.starts_with("NOPERM")),
                "{answer:?}"
            );
        }
    }
}

#[test]
fn memory_is_bounded_when_it_was_said() {
    for kind in Kind::ALL {
        let server = Server::setup(kind).maxmemory(1_000).start();
        assert!(server.used_memory() > 1_000);
        let answer = server.command(&["SET", "a", "1"]);
        assert!(matches!(&answer, Value::Error(said) if said.starts_with("OOM")), "{answer:?}");
    }
}

#[test]
fn lines_of_configuration_are_followed() {
    for kind in Kind::ALL {
        let server = Server::setup(kind).line("maxclients 17").line("databases 3").start();
        assert_eq!(server.command(&["CONFIG", "GET", "maxclients"]).items()[1].text(), "17");
        assert!(matches!(server.command(&["SELECT", "3"]), Value::Error(_)));
    }
}

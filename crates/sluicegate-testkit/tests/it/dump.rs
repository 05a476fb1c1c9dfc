//! Tests that the data of a server can be inspected completely.

use sluicegate_testkit::{Server, ServerKind};

fn contains(bytes: &[u8], wanted: &str) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted.as_bytes())
}

#[test]
fn keys_are_all_keys() {
    for kind in ServerKind::ALL {
        let server = Server::setup(kind).start();
        let fill = "for i = 1, 5000 do redis.call('SET', string.format('key:%05d', i), i) end";
        server.command(&["EVAL", fill, "0"]);
        let expected: Vec<_> = (1..=5000).map(|i| format!("key:{i:05}").into_bytes()).collect();
        assert_eq!(server.keys(), expected);
    }
}

#[test]
fn a_dump_contains_every_key_and_value_of_every_type() {
    for kind in ServerKind::ALL {
        let server = Server::setup(kind).start();
        let long = "x".repeat(500) + "the-end";
        for words in [
            &["SET", "a-text", "anna@example.org"][..],
            &["SET", "a-number", "4711004711"],
            &["SET", "12345678", "its-key-is-a-number"],
            &["SET", "a-long-text", &long],
            &["HSET", "a-hash", "field-of-hash", "value-of-hash"],
            &["RPUSH", "a-list", "item-of-list"],
            &["SADD", "a-set", "member-of-set"],
            &["ZADD", "a-ranking", "77", "member-of-ranking"],
            &["XADD", "a-stream", "*", "field-of-stream", "value-of-stream"],
        ] {
            server.command(words);
        }
        // Keys are listed in one database only; the data of others is searched all the same.
        server.command(&["SELECT", "1"]);
        let longer = "y".repeat(500) + "elsewhere";
        server.command(&["SET", "elsewhere", &longer]);
        server.command(&["SELECT", "0"]);
        let dump = server.dump();
        for wanted in [
            "a-text",
            "anna@example.org",
            "4711004711",
            "12345678",
            "its-key-is-a-number",
            &long,
            "field-of-hash",
            "value-of-hash",
            "item-of-list",
            "member-of-set",
            "member-of-ranking",
            "77",
            "field-of-stream",
            "value-of-stream",
            "elsewhere",
            &longer,
        ] {
            assert!(contains(&dump, wanted), "{wanted}");
        }
        assert!(!contains(&dump, "never-stored"));
    }
}

#[test]
fn used_memory_grows_with_the_data() {
    for kind in ServerKind::ALL {
        let server = Server::setup(kind).start();
        let before = server.used_memory();
        server.command(&["SET", "a", &"x".repeat(1_000_000)]);
        assert!(server.used_memory() > before + 900_000);
    }
}

//! The data of a server: its keys, and every stored byte.

use std::collections::BTreeSet;
use std::fs;

use crate::resp::value::RespValue;
use crate::server::Server;

impl Server {
    /// All keys, sorted. Expired keys are left out.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        let mut keys = BTreeSet::new();
        let mut cursor = "0".to_owned();
        loop {
            match self.command(&["SCAN", &cursor, "COUNT", "1000"]).items() {
                [next, found] => {
                    cursor = next.text();
                    keys.extend(found.items().iter().map(|key| match key {
                        RespValue::Text(bytes) => bytes.clone(),
                        other => panic!("a key is a text, not {other:?}"),
                    }));
                }
                other => panic!("SCAN answers two values, not {other:?}"),
            }
            if cursor == "0" {
                return keys.into_iter().collect();
            }
        }
    }

    /// All bytes that the server stores, to search in: its dump file, and then keys and values as
    /// text, because the file holds numbers in binary and not as digits.
    pub fn dump(&self) -> Vec<u8> {
        assert_eq!(self.command(&["SAVE"]).text(), "OK");
        let file = self.folder.path().join("stored.rdb");
        let mut bytes = fs::read(&file).expect("a server that saved left a file");
        // A restarted server would load the file.
        fs::remove_file(file).expect("the server's folder can be written to");
        for key in self.keys() {
            bytes.extend(&key);
            bytes.push(b'\n');
            self.value_of(&key).append_to(&mut bytes);
        }
        bytes
    }

    fn value_of(&self, key: &[u8]) -> RespValue {
        let kind = self.command(&[b"TYPE", key]).text();
        let words: &[&[u8]] = match kind.as_str() {
            "string" => &[b"GET", key],
            "hash" => &[b"HGETALL", key],
            "list" => &[b"LRANGE", key, b"0", b"-1"],
            "set" => &[b"SMEMBERS", key],
            "zset" => &[b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"],
            "stream" => &[b"XRANGE", key, b"-", b"+"],
            // Expired since it was listed.
            "none" => return RespValue::Null,
            other => panic!("found a key of type {other}: say here how it is read"),
        };
        self.command(words)
    }
}

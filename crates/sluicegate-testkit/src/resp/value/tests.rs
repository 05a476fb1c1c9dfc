use super::RespValue;
use crate::resp::raw::ParseFailure;

fn text(text: &str) -> RespValue {
    RespValue::Text(text.as_bytes().to_vec())
}

/// Every type of both versions of the protocol.
fn examples() -> Vec<(&'static str, RespValue)> {
    vec![
        ("+OK\r\n", text("OK")),
        ("-ERR no\r\n", RespValue::Error("ERR no".into())),
        (":-12\r\n", RespValue::Integer(-12)),
        ("$5\r\na\r\nbc\r\n", text("a\r\nbc")),
        ("$0\r\n\r\n", text("")),
        ("$-1\r\n", RespValue::Null),
        ("*-1\r\n", RespValue::Null),
        ("*0\r\n", RespValue::Array(vec![])),
        ("*2\r\n:1\r\n*1\r\n$1\r\na\r\n", {
            RespValue::Array(vec![RespValue::Integer(1), RespValue::Array(vec![text("a")])])
        }),
        ("_\r\n", RespValue::Null),
        ("#t\r\n", RespValue::Boolean(true)),
        ("#f\r\n", RespValue::Boolean(false)),
        (",1.5\r\n", RespValue::Double(1.5)),
        (",inf\r\n", RespValue::Double(f64::INFINITY)),
        ("(34928903284\r\n", text("34928903284")),
        ("!5\r\nERR x\r\n", RespValue::Error("ERR x".into())),
        ("=7\r\ntxt:a b\r\n", text("a b")),
        ("%1\r\n+a\r\n:1\r\n", RespValue::Map(vec![(text("a"), RespValue::Integer(1))])),
        ("~1\r\n:1\r\n", RespValue::Array(vec![RespValue::Integer(1)])),
        (">1\r\n+invalidate\r\n", RespValue::Push(vec![text("invalidate")])),
        ("|1\r\n+ttl\r\n:1\r\n:7\r\n", RespValue::Integer(7)),
    ]
}

#[test]
fn reads_every_type() {
    for (said, expected) in examples() {
        assert_eq!(RespValue::read(said.as_bytes()), Ok((expected, said.len())), "{said:?}");
    }
}

#[test]
fn takes_no_byte_of_the_next_value() {
    for (said, expected) in examples() {
        let two = format!("{said}+next\r\n");
        assert_eq!(RespValue::read(two.as_bytes()), Ok((expected, said.len())), "{two:?}");
    }
}

#[test]
fn waits_for_more_at_every_byte_of_an_unfinished_value() {
    for (said, _) in examples() {
        for end in 0..said.len() {
            let begun = &said.as_bytes()[..end];
            assert_eq!(RespValue::read(begun), Err(ParseFailure::Incomplete), "{:?}", &said[..end]);
        }
    }
}

#[test]
fn rejects_malformed_values() {
    let deep = "*1\r\n".repeat(100);
    for said in
        ["GET /\r\n", "\u{16}\u{3}\u{1}", ":one\r\n", "$2\r\nabcd\r\n", "$-2\r\n", "#x\r\n", &deep]
    {
        assert_eq!(RespValue::read(said.as_bytes()), Err(ParseFailure::Malformed), "{said:?}");
    }
}

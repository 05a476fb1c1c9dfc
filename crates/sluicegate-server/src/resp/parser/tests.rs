//! Parser tests: commands that arrive in arbitrary pieces.

use proptest::prelude::*;

use super::*;

/// The commands and the error that bytes are parsed into.
#[derive(Debug, PartialEq, Eq, Clone, Default)]
struct Read {
    commands: Vec<Vec<Vec<u8>>>,
    error: Option<ProtocolError>,
    /// The number of bytes of the incomplete command at the end.
    rest: usize,
}

/// Parses bytes that arrive in these pieces, as a connection does.
fn read(pieces: &[&[u8]]) -> Read {
    let mut read = Read::default();
    let (mut bytes, mut needed) = (Vec::new(), 1);
    for piece in pieces {
        bytes.extend_from_slice(piece);
        if bytes.len() < needed {
            continue;
        }
        let (mut at, mut arguments) = (0, Vec::new());
        needed = loop {
            arguments.clear();
            match parse(&mut bytes, at, &mut arguments) {
                Ok(ParsedCommand::Complete { length }) => {
                    assert!(length > 0 && at + length <= bytes.len());
                    at += length;
                    let found = arguments.iter().map(|found| found.of(&bytes).to_vec());
                    let found: Vec<_> = found.collect();
                    if !found.is_empty() {
                        read.commands.push(found);
                    }
                }
                Ok(ParsedCommand::Incomplete { needs }) => {
                    assert!(needs > bytes.len() - at, "it waits for bytes that are there");
                    break needs;
                }
                Err(error) => {
                    read.error = Some(error);
                    return read;
                }
            }
        };
        bytes.drain(..at);
    }
    read.rest = bytes.len();
    read
}

fn commands(bytes: &[u8]) -> Vec<Vec<String>> {
    let read = read(&[bytes]);
    assert_eq!((read.error, read.rest), (None, 0));
    let text = |word: Vec<u8>| String::from_utf8(word).unwrap();
    read.commands.into_iter().map(|command| command.into_iter().map(text).collect()).collect()
}

#[test]
fn arrays_and_lines_are_commands() {
    for (bytes, expected) in [
        ("*1\r\n$4\r\nPING\r\n", &[&["PING"][..]][..]),
        ("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", &[&["ECHO", ""]]),
        ("*1\r\n$2\r\n\r\n\r\n", &[&["\r\n"]]),
        ("PING\r\nPING\n", &[&["PING"], &["PING"]]),
        ("\r\n\n  \r\n*0\r\n*-1\r\n*-9223372036854775808\r\n", &[]),
        ("*1\r\n$4\r\nPING\r\nPING\r\n*1\r\n$4\r\nPING\r\n", &[&["PING"], &["PING"], &["PING"]]),
        ("ECHO \"a b\" 'c' d\r\n", &[&["ECHO", "a b", "c", "d"]]),
        ("\x0b\x0cECHO\tx\r\n", &[&["ECHO", "x"]]),
    ] {
        assert_eq!(commands(bytes.as_bytes()), expected, "{bytes:?}");
    }
}

#[test]
fn incomplete_commands_report_the_needed_bytes() {
    for (bytes, needs) in [
        ("", 1),
        ("*", 2),
        ("*2", 3),
        ("*2\r", 4),
        ("*2\r\n", 5),
        ("*2\r\n$", 6),
        ("*2\r\n$4\r\n", 14),
        ("*2\r\n$4\r\nECHO\r\n", 15),
        ("*2\r\n$4\r\nECHO\r\n$65536\r\n", 65_560),
        ("PING", 5),
        ("*-", 3),
        ("*-1\r", 5),
    ] {
        let mut arguments = Vec::new();
        let parsed = parse(&mut bytes.as_bytes().to_vec(), 0, &mut arguments);
        assert_eq!(parsed, Ok(ParsedCommand::Incomplete { needs }), "{bytes:?}");
        assert_eq!(arguments, []);
    }
}

/// Arguments that arrive byte by byte are not parsed again with every byte.
#[test]
fn a_command_in_many_pieces_is_not_parsed_with_each() {
    let argument = [&b"$600\r\n"[..], &[b'x'; 600], b"\r\n"].concat();
    let whole = [&b"*100\r\n"[..], &argument.repeat(100)].concat();
    let (mut tries, mut needed) = (0, 1);
    for length in 1..=whole.len() {
        if length < needed {
            continue;
        }
        tries += 1;
        match parse(&mut whole[..length].to_vec(), 0, &mut Vec::new()) {
            Ok(ParsedCommand::Incomplete { needs }) => needed = needs,
            other => assert_eq!(other, Ok(ParsedCommand::Complete { length: whole.len() })),
        }
    }
    assert!(tries < 1_000, "{tries} of {}", whole.len());
}

/// Generates bytes that are nearly commands.
fn nearly_commands() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just(b"PING".to_vec()),
        Just(b"\r\n".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    let array = proptest::collection::vec(word, 0..5).prop_map(|words| {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend(format!("${}\r\n", word.len()).bytes());
            bytes.extend(word);
            bytes.extend(b"\r\n");
        }
        bytes
    });
    let line = "[ -~]{0,30}\r?\n".prop_map(String::into_bytes);
    let part = prop_oneof![
        8 => array,
        4 => line,
        1 => "[*$][-0-9]{0,7}\r\n?".prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..5),
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn pieces_do_not_change_the_commands(
        bytes in nearly_commands(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let whole = read(&[&bytes]);
        let each: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&read(&each), &whole);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        prop_assert_eq!(&read(&pieces), &whole);
    }
}

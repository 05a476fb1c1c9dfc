//! Parser tests: valid headers, in pieces, damaged, and random.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::*;
use sluicegate_testkit::Rng;

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

/// Returns a header of version 2 with this address block.
fn binary(version_and_command: u8, family_and_transport: u8, block: &[u8]) -> Vec<u8> {
    let mut bytes = SIGNATURE.to_vec();
    bytes.extend([version_and_command, family_and_transport]);
    bytes.extend(u16::try_from(block.len()).unwrap().to_be_bytes());
    bytes.extend(block);
    bytes
}

fn block(source: SocketAddr, more: usize) -> Vec<u8> {
    let mut bytes = match source.ip() {
        IpAddr::V4(address) => [address.octets(), [192, 0, 2, 1]].concat(),
        IpAddr::V6(address) => [address.octets(), Ipv6Addr::LOCALHOST.octets()].concat(),
    };
    bytes.extend(source.port().to_be_bytes());
    bytes.extend(443u16.to_be_bytes());
    bytes.extend(vec![0xee; more]);
    bytes
}

/// Returns valid headers and their source addresses.
fn valid_headers() -> Vec<(Vec<u8>, Option<SocketAddr>)> {
    let lines = [
        ("PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n", "192.168.0.1:56324"),
        ("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255:65535"),
        ("PROXY TCP4 0.0.0.0 1.2.3.4 0 0\r\n", "0.0.0.0:0"),
        ("PROXY TCP6 2001:db8::1 ::1 4711 443\r\n", "[2001:db8::1]:4711"),
        ("PROXY TCP6 :: 2001:DB8:1:2:3:4:5:6 1 2\r\n", "[::]:1"),
        ("PROXY TCP6 1:2:3:4:5:6:7:: ::2:3:4:5:6:7:8 1 2\r\n", "[1:2:3:4:5:6:7:0]:1"),
        ("PROXY TCP6 ::ffff:192.0.2.7 64:ff9b::1.2.3.4 4711 443\r\n", "192.0.2.7:4711"),
        ("PROXY TCP6 ::ffff:c000:207 ::1 4711 443\r\n", "192.0.2.7:4711"),
        (LONGEST_SIX, "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"),
        ("PROXY UNKNOWN\r\n", ""),
        ("PROXY UNKNOWN \r\n", ""),
        ("PROXY UNKNOWN whatever  it says\r\n", ""),
        (LONGEST_UNKNOWN, ""),
    ];
    let mut headers: Vec<_> = lines
        .iter()
        .map(|(line, source)| (line.as_bytes().to_vec(), source.parse().ok()))
        .collect();
    for (source, family) in [("192.0.2.7:4711", 0x10), ("[2001:db8::1]:4711", 0x20)] {
        let source: SocketAddr = source.parse().unwrap();
        for (transport, more) in [(1, 0), (2, 0), (1, 1), (1, 300)] {
            headers.push((binary(0x21, family | transport, &block(source, more)), Some(source)));
        }
        // An unspecified transport, or a connection of the proxy itself.
        headers.push((binary(0x21, family, &block(source, 0)), None));
        headers.push((binary(0x21, family, &[]), None));
        headers.push((binary(0x20, family | 1, &block(source, 0)), None));
    }
    let mapped = block("[::ffff:192.0.2.7]:80".parse().unwrap(), 0);
    headers.push((binary(0x21, 0x21, &mapped), "192.0.2.7:80".parse().ok()));
    for (version_and_command, family_and_transport, size) in [
        (0x20, 0x00, 0),
        (0x20, 0x00, 40),
        (0x20, 0xff, 5),
        (0x21, 0x00, 0),
        (0x21, 0x00, 12),
        (0x21, 0x01, 0),
        (0x21, 0x31, 216),
        (0x21, 0x32, 220),
        (0x21, 0x30, 0),
        (0x21, 0x00, MAX_LENGTH - 16),
    ] {
        headers.push((binary(version_and_command, family_and_transport, &vec![7; size]), None));
    }
    headers
}

const LONGEST_SIX: &str = "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff \
                           ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
const LONGEST_UNKNOWN: &str = "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff \
                               ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";

#[test]
fn parses_valid_headers_before_any_payload() {
    assert_eq!((LONGEST_SIX.len(), LONGEST_UNKNOWN.len()), (104, 107));
    for (bytes, source) in valid_headers() {
        let header = Ok(ParsedHeader::Header { length: bytes.len(), source });
        assert_eq!(parse(&bytes), header, "{}", bytes.escape_ascii());
        for payload in ["GET / HTTP/1.1\r\n", "\r\n", "PROXY UNKNOWN\r\n", "\0"] {
            assert_eq!(parse(&[&bytes, payload.as_bytes()].concat()), header);
        }
    }
}

#[test]
fn every_prefix_of_a_valid_header_is_incomplete() {
    for (bytes, _) in valid_headers() {
        for end in 0..bytes.len() {
            let cut = &bytes[..end];
            assert_eq!(parse(cut), Ok(ParsedHeader::Incomplete), "{}", cut.escape_ascii());
        }
    }
}

#[test]
fn every_prefix_of_an_address_is_incomplete() {
    let mut random = Rng::new(11);
    for _ in 0..500 {
        let mut bits = random.wide();
        for _ in 0..random.index(6) {
            // Runs of zeros, because they have several spellings.
            bits &= !(0xffff << (16 * random.index(8)));
        }
        let six = Ipv6Addr::from_bits(bits);
        let groups = six.segments().map(|group| format!("{group:x}"));
        let (full, head) = (groups.join(":"), groups[..6].join(":"));
        for line in [
            format!("PROXY TCP4 {} {} 1 2\r\n", four(bits), four(bits >> 32)),
            format!("PROXY TCP6 {six} {full} 1 2\r\n"),
            format!("PROXY TCP6 {head}:{} ::{} 1 2\r\n", four(bits), four(bits)),
        ] {
            for end in 0..line.len() {
                assert_eq!(
                    parse(&line.as_bytes()[..end]),
                    Ok(ParsedHeader::Incomplete),
                    "{line:.end$}"
                );
            }
            assert!(matches!(parse(line.as_bytes()), Ok(ParsedHeader::Header { .. })), "{line}");
        }
    }
}

fn four(bits: u128) -> Ipv4Addr {
    Ipv4Addr::from_bits((bits & 0xffff_ffff).try_into().unwrap())
}

#[test]
fn a_flipped_bit_in_a_signature_is_an_error() {
    for (bytes, _) in valid_headers() {
        let signature = if bytes[0] == b'P' { 6 } else { 12 };
        for at in 0..bytes.len().min(300) {
            for flip in (0..8).map(|bit| 1 << bit) {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                let parsed = parse(&damaged);
                if at < signature {
                    assert!(parsed.is_err(), "{}", damaged.escape_ascii());
                    // The first byte may be valid in the other version.
                    let early = parse(&damaged[..=at.max(1)]);
                    assert!(early.is_err(), "{}", damaged.escape_ascii());
                }
                if let Ok(ParsedHeader::Header { length, .. }) = parsed {
                    assert!(length <= damaged.len());
                }
            }
        }
    }
}

#[test]
fn random_bytes_are_parsed_or_refused() {
    let mut random = Rng::new(12);
    for _ in 0..10_000 {
        let mut bytes = match random.index(4) {
            0 => Vec::new(),
            1 => b"PROXY TCP4 ".to_vec(),
            2 => b"PROXY TCP6 1".to_vec(),
            _ => SIGNATURE.to_vec(),
        };
        bytes.extend((0..random.index(60)).map(|_| match random.index(3) {
            0 => random.byte(),
            _ => *random.pick(b"0123456789abcdef.: \r\n!\"\x11\x21"),
        }));
        // More bytes neither make an invalid header valid nor a valid one invalid.
        let mut before = Ok(ParsedHeader::Incomplete);
        for end in 0..=bytes.len() {
            let now = parse(&bytes[..end]);
            match before {
                Ok(ParsedHeader::Incomplete) => {}
                Ok(ParsedHeader::Header { .. }) => assert_eq!(now, before),
                Err(_) => assert!(now.is_err(), "{}", bytes.escape_ascii()),
            }
            before = now;
        }
    }
}

/// Each text ends with its first invalid byte.
#[test]
fn refuses_at_the_first_invalid_byte_with_a_message() {
    let line = |text: &str| text.as_bytes().to_vec();
    let fixed = |four: &[u8]| [&SIGNATURE, four].concat();
    let address = |field, text, version| {
        format!("the {field} of the PROXY line is `{text}`, not an IPv{version} address")
    };
    let port = |field, text| {
        format!(
            "the {field} of the PROXY line is `{text}`; it must be a number from 0 to 65535 \
             without leading zeros"
        )
    };
    let protocol = |text| {
        format!("the protocol of the PROXY line is `{text}`; it must be TCP4, TCP6 or UNKNOWN")
    };
    let none = |at, text| format!("no PROXY header: byte {at} of the connection is `{text}`");
    let ends = |field| format!("the PROXY line ends before its {field}");
    for (bytes, message) in [
        (line("G"), none(1, "G")),
        (line("\0"), none(1, "\\x00")),
        (line("PO"), none(2, "O")),
        (line("PROXY\t"), none(6, "\\t")),
        (line("\r\n\r\n\r"), none(5, "\\r")),
        (line("PROXY  "), protocol("")),
        (line("PROXY t"), protocol("t")),
        (line("PROXY TCP5"), protocol("TCP5")),
        (line("PROXY UD"), protocol("UD")),
        (line("PROXY TCP44"), protocol("TCP44")),
        (line("PROXY UNKNOWN\n"), protocol("UNKNOWN\\n")),
        (line("PROXY \r"), protocol("")),
        (line("PROXY TCP4\r"), ends("source address")),
        (line("PROXY TCP4  "), address("source address", "", 4)),
        (line("PROXY TCP4 256"), address("source address", "256", 4)),
        (line("PROXY TCP4 01"), address("source address", "01", 4)),
        (line("PROXY TCP4 1.2.3 "), address("source address", "1.2.3", 4)),
        (line("PROXY TCP4 1.2.3.4."), address("source address", "1.2.3.4.", 4)),
        (line("PROXY TCP4 :"), address("source address", ":", 4)),
        (line("PROXY TCP4 1.2.3.4\r"), ends("destination address")),
        (line("PROXY TCP4 1.2.3.4 x"), address("destination address", "x", 4)),
        (line("PROXY TCP4 1.2.3.4 5.6.7.8 -"), port("source port", "-")),
        (line("PROXY TCP4 1.2.3.4 5.6.7.8 +"), port("source port", "+")),
        (line("PROXY TCP4 1.2.3.4 5.6.7.8 00"), port("source port", "00")),
        (line("PROXY TCP4 1.2.3.4 5.6.7.8 65536"), port("source port", "65536")),
        (line("PROXY TCP4 1.2.3.4 5.6.7.8 1\r"), ends("destination port")),
        (line("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n"), port("destination port", "2\\n")),
        (line("PROXY TCP4 1.2.3.4 5.6.7.8 1 \r"), port("destination port", "")),
        (
            line("PROXY TCP4 1.2.3.4 5.6.7.8 1 2 "),
            "the PROXY line continues with `` after its destination port".into(),
        ),
        (
            line("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\r"),
            "the PROXY line has `\\r` after its carriage return; it must be a line feed".into(),
        ),
        (line("PROXY TCP6 1."), address("source address", "1.", 6)),
        (line("PROXY TCP6 ::12345"), address("source address", "::12345", 6)),
        (line("PROXY TCP6 1::2::"), address("source address", "1::2::", 6)),
        (line("PROXY TCP6 1:2:3:4:5:6:7:8:"), address("source address", "1:2:3:4:5:6:7:8:", 6)),
        (line("PROXY TCP6 fe80::1%"), address("source address", "fe80::1%", 6)),
        (line("PROXY UNKNOWN a\n"), "the PROXY line contains the byte `\\n`".into()),
        (
            line(&LONGEST_UNKNOWN.replace("\r\n", "1")),
            "the PROXY line does not end within 107 bytes".into(),
        ),
        (fixed(&[0x11]), "the PROXY header has version 1; it must be 1 or 2".into()),
        (
            fixed(&[0x22]),
            "the PROXY header has command 2; it must be 0 (LOCAL) or 1 (PROXY)".into(),
        ),
        (fixed(&[0x21, 0x41]), "the PROXY header has address family 4; it must be 0 to 3".into()),
        (fixed(&[0x21, 0x13]), "the PROXY header has transport 3; it must be 0 to 2".into()),
        (fixed(&[0x21, 0x11, 0x10]), too_long(4112)),
        (fixed(&[0x20, 0x00, 0x0f, 0xf1]), too_long(4097)),
        (fixed(&[0x21, 0x11, 0, 11]), too_short(11, 12)),
        (fixed(&[0x21, 0x22, 0, 35]), too_short(35, 36)),
        (fixed(&[0x21, 0x31, 0, 215]), too_short(215, 216)),
    ] {
        let shown = bytes.escape_ascii().to_string();
        let found = parse(&bytes).expect_err(&shown).to_string();
        assert_eq!(found, message);
        assert_eq!(parse(&bytes[..bytes.len() - 1]), Ok(ParsedHeader::Incomplete), "{shown}");
    }
}

fn too_long(found: usize) -> String {
    format!("the PROXY header has at least {found} bytes; 4096 are allowed")
}

fn too_short(found: usize, least: usize) -> String {
    format!("the PROXY header has {found} bytes for addresses that take at least {least}")
}

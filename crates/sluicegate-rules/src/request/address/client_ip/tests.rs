//! Tests of the client address behind trusted and untrusted proxies.

mod table;

use super::*;
use sluicegate_testkit::Rng;

/// The networks that `net` stands for in the table.
const TRUSTED: [&str; 3] = ["10.0.0.0/8", "fd00::/8", "127.0.0.1"];

fn proxies(how: &str) -> Proxies {
    let (trust, header) = how.split_once(' ').unwrap();
    let trusted = TRUSTED.iter().map(|entry| entry.parse().unwrap());
    Proxies {
        trust: match trust {
            "off" => TrustPolicy::None,
            "net" => TrustPolicy::Networks(trusted.collect()),
            hops => TrustPolicy::Hops(hops.parse().unwrap()),
        },
        forwarded_by: match header {
            "xff" => ForwardedBy::XForwardedFor,
            "fwd" => ForwardedBy::Forwarded,
            "one" => ForwardedBy::Header("cf-connecting-ip".to_owned()),
            other => panic!("{other}"),
        },
    }
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn client(proxies: &Proxies, peer: &str, lines: &[impl AsRef<[u8]>]) -> ClientAddress {
    proxies.client(address(peer), lines.iter().map(AsRef::as_ref))
}

#[test]
fn finds_the_client_of_every_row() {
    for (how, peer, lines, expected, found) in table::ROWS {
        let expected = ClientAddress { address: address(expected), found: *found };
        assert_eq!(client(&proxies(how), peer, lines), expected, "{how} {peer} {lines:?}");
    }
}

#[test]
fn the_table_is_long_and_repeats_nothing() {
    let mut rows: Vec<_> = table::ROWS.iter().map(|row| (row.0, row.1, row.2)).collect();
    assert!(rows.len() >= 200);
    rows.sort_unstable();
    assert!(rows.windows(2).all(|two| two[0] != two[1]));
}

/// Random header lines of a sender that forges its address.
fn forged(random: &mut Rng) -> Vec<Vec<u8>> {
    const PIECES: [&str; 24] = [
        ",",
        ",",
        ", ",
        ";",
        "\"",
        "\\",
        "=",
        "for=",
        "For=\"",
        "\", ",
        "[",
        "]",
        ":80",
        "%eth0",
        " ",
        "10.0.0.2",
        "127.0.0.1",
        "192.0.2.66",
        "2001:db8::66",
        "::ffff:192.0.2.66",
        "[fd00::2]:443",
        "unknown",
        "_x",
        "for=\"[2001:db8::66]:4711\"",
    ];
    let line = |random: &mut Rng| {
        let mut line = Vec::new();
        for _ in 0..random.index(50) {
            if random.index(8) == 0 {
                line.push(random.byte());
            } else {
                line.extend_from_slice(random.pick(&PIECES).as_bytes());
            }
        }
        line
    };
    (0..=random.index(4)).map(|_| line(random)).collect()
}

#[test]
fn ignores_headers_of_an_untrusted_peer() {
    let mut random = Rng::new(1);
    for round in 0..10_000 {
        let lines = forged(&mut random);
        for how in ["off xff", "off fwd", "off one", "net xff", "net fwd", "net one"] {
            let found = client(&proxies(how), "203.0.113.1", &lines);
            assert_eq!(found.address, address("203.0.113.1"), "{how} in round {round}");
        }
    }
}

#[test]
fn forged_entries_do_not_override_those_of_trusted_proxies() {
    let mut random = Rng::new(2);
    for round in 0..10_000 {
        for (header, appended) in [
            ("xff", &b"198.51.100.7, 10.0.0.2"[..]),
            ("fwd", b"for=198.51.100.7, for=10.0.0.2"),
            ("fwd", b"For=\"198.51.100.7:80\";by=\"_a,\\\"b\", by=\"[::1]\";for=\"10.0.0.2\""),
        ] {
            let mut lines = forged(&mut random);
            if random.index(2) == 0 {
                lines.push(appended.to_vec());
            } else if let Some(last) = lines.last_mut() {
                last.extend_from_slice(b", ");
                last.extend_from_slice(appended);
            }
            for trust in ["net", "2"] {
                let found = client(&proxies(&format!("{trust} {header}")), "10.0.0.1", &lines);
                let right = ClientAddress {
                    address: address("198.51.100.7"),
                    found: Provenance::ForwardedBy { hops: 2 },
                };
                assert_eq!(found, right, "{trust} {header} in round {round}");
            }
        }
    }
}

/// The same rules in a slow and simple form: one list, read from its end.
fn client_of_one_list(trusted: &Networks, peer: IpAddr, lines: &[Vec<u8>]) -> IpAddr {
    let list = lines.join(&b","[..]);
    let mut client = peer;
    for (place, entry) in list.split(|byte| *byte == b',').rev().enumerate() {
        let Some(address) = parse::read(entry).filter(|_| place < 64) else { return client };
        client = address;
        if !trusted.contains(address) {
            return client;
        }
    }
    client
}

#[test]
fn lines_are_one_list() {
    let proxies = proxies("net xff");
    let TrustPolicy::Networks(trusted) = &proxies.trust else { panic!("trusts networks") };
    let mut random = Rng::new(3);
    let choices = ["10.0.0.2", "fd00::2", "127.0.0.1:80", "10.0.0.3", "192.0.2.66", "unknown"];
    for _ in 0..10_000 {
        let rarely = 4 + random.index(3);
        let mut line = || {
            let entries = (0..=random.index(9)).map(|_| *random.pick(&choices[..rarely]));
            entries.collect::<Vec<_>>().join(", ").into_bytes()
        };
        let lines: Vec<_> = (0..8).map(|_| line()).collect();
        let peer = address("10.0.0.1");
        let expected = client_of_one_list(trusted, peer, &lines);
        assert_eq!(client(&proxies, "10.0.0.1", &lines).address, expected);
    }
}

#[test]
fn reads_at_most_sixty_four_entries() {
    for (how, key) in [("net xff", ""), ("net fwd", "for=")] {
        let proxies = proxies(how);
        let behind = |trusted: u8| {
            let trusted = (1..=trusted).rev().map(|number| format!(",{key}10.0.0.{number}"));
            let line = format!("{key}192.0.2.66") + &trusted.collect::<String>();
            client(&proxies, "10.0.0.1", &[line])
        };
        let last = ClientAddress {
            address: address("192.0.2.66"),
            found: Provenance::ForwardedBy { hops: 64 },
        };
        let beyond = ClientAddress { address: address("10.0.0.64"), found: Provenance::TooMany };
        assert_eq!([behind(63), behind(64), behind(200)], [last, beyond, beyond]);
    }
}

#[test]
fn names_only_the_header_that_it_reads() {
    for (how, header) in [
        ("off xff", None),
        ("0 fwd", None),
        ("net xff", Some("x-forwarded-for")),
        ("1 fwd", Some("forwarded")),
        ("net one", Some("cf-connecting-ip")),
    ] {
        assert_eq!(proxies(how).header(), header, "{how}");
    }
    assert_eq!(Proxies::default().header(), None);
}

#[test]
fn explains_how_the_client_was_found() {
    for (found, words) in [
        (Provenance::Peer, "the peer's own: no proxy is trusted"),
        (Provenance::NoHeader, "the peer's own: the header is missing"),
        (Provenance::Untrusted, "the peer's own: it is not a trusted proxy"),
        (Provenance::ForwardedBy { hops: 1 }, "reported by 1 trusted proxy"),
        (Provenance::ForwardedBy { hops: 2 }, "reported by 2 trusted proxies in a row"),
        (Provenance::AllTrusted { hops: 1 }, "the only entry, although it is a trusted proxy"),
        (
            Provenance::AllTrusted { hops: 3 },
            "the leftmost of 3 entries, which are all trusted proxies",
        ),
        (Provenance::TooFew { entries: 1 }, "the peer's own: there is only 1 entry"),
        (Provenance::TooFew { entries: 2 }, "the peer's own: there are only 2 entries"),
        (Provenance::TooMany, "the last one vouched for: there are more than 64 entries"),
        (
            Provenance::Unreadable { entry: 2 },
            "the last one vouched for: entry 2 from the right is not an address",
        ),
        (Provenance::Repeated, "the peer's own: the header is present more than once"),
    ] {
        assert_eq!(found.to_string(), words);
    }
}

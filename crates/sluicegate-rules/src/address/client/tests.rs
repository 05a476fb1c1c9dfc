//! Whose address counts, and whose word never does.

mod table;

use super::super::random::Random;
use super::*;

/// What `net` trusts in the table.
const TRUSTED: [&str; 3] = ["10.0.0.0/8", "fd00::/8", "127.0.0.1"];

fn proxies(how: &str) -> Proxies {
    let (trust, told) = how.split_once(' ').unwrap();
    let trusted = TRUSTED.iter().map(|entry| entry.parse().unwrap());
    Proxies {
        trust: match trust {
            "off" => Trust::Nobody,
            "net" => Trust::Networks(trusted.collect()),
            hops => Trust::Hops(hops.parse().unwrap()),
        },
        told: match told {
            "xff" => Told::XForwardedFor,
            "fwd" => Told::Forwarded,
            "one" => Told::Header("cf-connecting-ip".to_owned()),
            other => panic!("{other}"),
        },
    }
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn client(proxies: &Proxies, peer: &str, lines: &[impl AsRef<[u8]>]) -> Client {
    proxies.client(address(peer), lines.iter().map(AsRef::as_ref))
}

#[test]
fn finds_the_client_of_every_row() {
    for (how, peer, lines, expected, found) in table::ROWS {
        let expected = Client { address: address(expected), found: *found };
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

/// What somebody might send who wants to be somebody else.
fn forged(random: &mut Random) -> Vec<Vec<u8>> {
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
    let line = |random: &mut Random| {
        let mut line = Vec::new();
        for _ in 0..random.below(50) {
            if random.below(8) == 0 {
                line.push(random.byte());
            } else {
                line.extend_from_slice(random.one_of(&PIECES).as_bytes());
            }
        }
        line
    };
    (0..=random.below(4)).map(|_| line(random)).collect()
}

#[test]
fn never_believes_an_untrusted_peer() {
    let mut random = Random::seeded(1);
    for round in 0..10_000 {
        let lines = forged(&mut random);
        for how in ["off xff", "off fwd", "off one", "net xff", "net fwd", "net one"] {
            let found = client(&proxies(how), "203.0.113.1", &lines);
            assert_eq!(found.address, address("203.0.113.1"), "{how} in round {round}");
        }
    }
}

#[test]
fn nothing_forged_moves_what_trusted_proxies_append() {
    let mut random = Random::seeded(2);
    for round in 0..10_000 {
        for (told, appended) in [
            ("xff", &b"198.51.100.7, 10.0.0.2"[..]),
            ("fwd", b"for=198.51.100.7, for=10.0.0.2"),
            ("fwd", b"For=\"198.51.100.7:80\";by=\"_a,\\\"b\", by=\"[::1]\";for=\"10.0.0.2\""),
        ] {
            let mut lines = forged(&mut random);
            if random.below(2) == 0 {
                lines.push(appended.to_vec());
            } else if let Some(last) = lines.last_mut() {
                last.extend_from_slice(b", ");
                last.extend_from_slice(appended);
            }
            for trust in ["net", "2"] {
                let found = client(&proxies(&format!("{trust} {told}")), "10.0.0.1", &lines);
                let right =
                    Client { address: address("198.51.100.7"), found: Found::Told { hops: 2 } };
                assert_eq!(found, right, "{trust} {told} in round {round}");
            }
        }
    }
}

/// The rules once more, the slow and simple way: one list, read from its end.
fn client_of_one_list(trusted: &Networks, peer: IpAddr, lines: &[Vec<u8>]) -> IpAddr {
    let list = lines.join(&b","[..]);
    let mut client = peer;
    for (place, entry) in list.split(|byte| *byte == b',').rev().enumerate() {
        let Some(address) = node::read(entry).filter(|_| place < 64) else { return client };
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
    let Trust::Networks(trusted) = &proxies.trust else { panic!("trusts networks") };
    let mut random = Random::seeded(3);
    let choices = ["10.0.0.2", "fd00::2", "127.0.0.1:80", "10.0.0.3", "192.0.2.66", "unknown"];
    for _ in 0..10_000 {
        let rarely = 4 + random.below(3);
        let mut line = || {
            let entries = (0..=random.below(9)).map(|_| random.one_of(&choices[..rarely]));
            entries.collect::<Vec<_>>().join(", ").into_bytes()
        };
        let lines: Vec<_> = (0..8).map(|_| line()).collect();
        let peer = address("10.0.0.1");
        let expected = client_of_one_list(trusted, peer, &lines);
        assert_eq!(client(&proxies, "10.0.0.1", &lines).address, expected);
    }
}

#[test]
fn looks_at_sixty_four_entries_and_no_further() {
    for (told, key) in [("net xff", ""), ("net fwd", "for=")] {
        let proxies = proxies(told);
        let behind = |trusted: u8| {
            let trusted = (1..=trusted).rev().map(|number| format!(",{key}10.0.0.{number}"));
            let line = format!("{key}192.0.2.66") + &trusted.collect::<String>();
            client(&proxies, "10.0.0.1", &[line])
        };
        let told = Client { address: address("192.0.2.66"), found: Found::Told { hops: 64 } };
        let beyond = Client { address: address("10.0.0.64"), found: Found::TooMany };
        assert_eq!([behind(63), behind(64), behind(200)], [told, beyond, beyond]);
    }
}

#[test]
fn asks_only_for_the_header_it_will_read() {
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
fn says_how_the_client_was_found() {
    for (found, words) in [
        (Found::Peer, "the peer's own: no proxy is trusted"),
        (Found::NoHeader, "the peer's own: the header is not there"),
        (Found::Untrusted, "the peer's own: it is not a trusted proxy"),
        (Found::Told { hops: 1 }, "told by 1 trusted proxy"),
        (Found::Told { hops: 2 }, "told by 2 trusted proxies in a row"),
        (Found::AllTrusted { hops: 1 }, "the only entry, although it is a trusted proxy"),
        (Found::AllTrusted { hops: 3 }, "the leftmost of 3 entries, which are all trusted proxies"),
        (Found::TooFew { entries: 1 }, "the peer's own: there is only 1 entry"),
        (Found::TooFew { entries: 2 }, "the peer's own: there are only 2 entries"),
        (Found::TooMany, "the last one vouched for: there are more than 64 entries"),
        (
            Found::Unreadable { entry: 2 },
            "the last one vouched for: entry 2 from the right is not an address",
        ),
        (Found::Repeated, "the peer's own: the header is there more than once"),
    ] {
        assert_eq!(found.to_string(), words);
    }
}

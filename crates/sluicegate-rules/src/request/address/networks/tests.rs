//! Tests of network sets and of the errors of their entries.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;
use sluicegate_testkit::Rng;

fn networks(entries: &[&str]) -> Networks {
    entries
        .iter()
        .map(|entry| entry.parse::<NetworkEntry>().unwrap_or_else(|e| panic!("{e}")))
        .collect()
}

fn holds(networks: &Networks, address: &str) -> bool {
    networks.contains(address.parse().unwrap())
}

#[test]
fn contains_exactly_the_addresses_of_its_networks() {
    let rows: [(&[&str], &[&str], &[&str]); 12] = [
        (&[], &[], &["0.0.0.0", "::", "127.0.0.1"]),
        (&["10.0.0.0/8"], &["10.0.0.0", "10.255.255.255"], &["9.255.255.255", "11.0.0.0"]),
        (&["192.0.2.7"], &["192.0.2.7", "::ffff:192.0.2.7"], &["192.0.2.6", "192.0.2.8"]),
        (&["192.0.2.7/32"], &["192.0.2.7"], &["192.0.2.6", "::192.0.2.7"]),
        (&["0.0.0.0/0"], &["0.0.0.0", "255.255.255.255", "::ffff:1.2.3.4"], &["::", "2001:db8::1"]),
        (&["::/0"], &["::", "2001:db8::1", "::1.2.3.4"], &["1.2.3.4", "::ffff:1.2.3.4"]),
        (&["::ffff:10.0.0.0/104"], &["10.1.2.3", "::ffff:a01:203"], &["11.0.0.0", "::a01:203"]),
        (&["::ffff:0:0/96"], &["1.2.3.4", "::ffff:1.2.3.4"], &["::1.2.3.4"]),
        (&["::FFFF:C000:0207"], &["192.0.2.7"], &["192.0.2.8", "::192.0.2.7"]),
        (&["private"], &PRIVATE, &BESIDE_PRIVATE),
        (
            &["loopback"],
            &["127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"],
            &["126.255.255.255", "128.0.0.0", "::", "::2"],
        ),
        (
            &["link_local"],
            &["169.254.0.0", "169.254.255.255", "fe80::", "febf:ffff::1"],
            &["169.253.255.255", "169.255.0.0", "fe7f::1", "fec0::"],
        ),
    ];
    for (entries, inside, outside) in rows {
        let networks = networks(entries);
        assert_eq!(networks.is_empty(), entries.is_empty());
        for address in inside {
            assert!(holds(&networks, address), "{address} is in {entries:?}");
        }
        for address in outside {
            assert!(!holds(&networks, address), "{address} is not in {entries:?}");
        }
    }
}

const PRIVATE: [&str; 8] = [
    "10.0.0.0",
    "10.255.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.168.0.0",
    "192.168.255.255",
    "fc00::",
    "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
];
const BESIDE_PRIVATE: [&str; 8] = [
    "9.255.255.255",
    "11.0.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "fbff:ffff::",
    "fe00::",
];

#[test]
fn a_set_is_the_union_of_its_networks() {
    let mut random = Rng::new(10);
    for _ in 0..300 {
        let count = random.index(20);
        // Nested, overlapping, adjacent and repeated ones: all among few addresses.
        let four = |random: &mut Rng| {
            let prefix = u8::try_from(24 + random.index(9)).unwrap();
            Ipv4Net::new(Ipv4Addr::new(10, 0, 0, random.byte()), prefix).unwrap().trunc().into()
        };
        let six = |random: &mut Rng| {
            let prefix = u8::try_from(120 + random.index(9)).unwrap();
            let address = Ipv6Addr::from_bits(0xfd00 << 112 | u128::from(random.byte()));
            Ipv6Net::new(address, prefix).unwrap().trunc().into()
        };
        let mut entry = || {
            NetworkEntry::One(if random.index(2) == 0 {
                four(&mut random)
            } else {
                six(&mut random)
            })
        };
        let entries: Vec<_> = (0..count).map(|_| entry()).collect();
        let networks: Networks = entries.iter().copied().collect();
        for last in 0..=255 {
            let four = IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
            let six = IpAddr::V6(Ipv6Addr::from_bits(0xfd00 << 112 | u128::from(last)));
            for address in [four, six] {
                let mut all = entries.iter().flat_map(NetworkEntry::networks);
                let expected = all.any(|network| network.contains(&address));
                assert_eq!(networks.contains(address), expected, "{address}");
            }
        }
    }
}

#[test]
fn explains_invalid_entries() {
    const NOT_NAMES: &str = "is a name, and names are not looked up; write an address, a network, \
                             `private`, `loopback` or `link_local`";
    const NO_NETWORK: &str = "is not an address or network; write it as in `10.0.0.0/8`";
    const TO_32: &str = "it has to be a whole number from 0 to 32";
    const TO_128: &str = "it has to be a whole number from 0 to 128";
    let host_bits = |meant: &str, one: &str| {
        format!(
            "has bits set after its prefix; did you mean {meant}? (or {one} for that one address)"
        )
    };
    for (text, words) in [
        ("10.0.0.1/8", host_bits("10.0.0.0/8", "10.0.0.1")),
        ("192.168.1.0/16", host_bits("192.168.0.0/16", "192.168.1.0")),
        ("1.2.3.4/0", host_bits("0.0.0.0/0", "1.2.3.4")),
        ("2001:db8::1/32", host_bits("2001:db8::/32", "2001:db8::1")),
        ("::ffff:10.0.0.1/104", host_bits("10.0.0.0/8", "::ffff:10.0.0.1")),
        ("::ffff:10.0.0.0/8", host_bits("10.0.0.0/8", "::ffff:10.0.0.0")),
        ("localhost", NOT_NAMES.into()),
        ("proxy.example.com", NOT_NAMES.into()),
        ("Private", NOT_NAMES.into()),
        ("link-local", NOT_NAMES.into()),
        ("", "has no address; write one, as in `10.0.0.0/8`".into()),
        ("/8", "has no address; write one, as in `10.0.0.0/8`".into()),
        ("10.0.0", NO_NETWORK.into()),
        ("10/8", NO_NETWORK.into()),
        ("010.0.0.0/8", NO_NETWORK.into()),
        (" 10.0.0.0/8", NO_NETWORK.into()),
        ("*", NO_NETWORK.into()),
        ("fe80:::1", NO_NETWORK.into()),
        ("10.0.0.1:80", "has a port; write the address alone: `10.0.0.1`".into()),
        ("[::1]:80", "has a port; write the address alone: `::1`".into()),
        ("[::1]", "has brackets; write the address without: `::1`".into()),
        ("fe80::1%eth0", "has a zone; write the address without: `fe80::1`".into()),
        ("10.0.0.0/255.0.0.0", "has a mask for a prefix; did you mean 10.0.0.0/8?".into()),
        ("10.0.0.9/255.255.0.0", "has a mask for a prefix; did you mean 10.0.0.0/16?".into()),
    ] {
        let error = text.parse::<NetworkEntry>().expect_err(text);
        assert_eq!(error.to_string(), format!("`{text}` {words}"));
    }
    for (text, prefix, words) in [
        ("10.0.0.0/33", "33", TO_32),
        ("10.0.0.0/", "", TO_32),
        ("10.0.0.0/08", "08", TO_32),
        ("10.0.0.0/+8", "+8", TO_32),
        ("10.0.0.0/-1", "-1", TO_32),
        ("10.0.0.0/8/8", "8/8", TO_32),
        ("10.0.0.0/999999", "999999", TO_32),
        ("10.0.0.0/255.0.255.0", "255.0.255.0", TO_32),
        ("2001:db8::/129", "129", TO_128),
        ("2001:db8::/x", "x", TO_128),
    ] {
        let error = text.parse::<NetworkEntry>().expect_err(text);
        assert_eq!(error.to_string(), format!("the prefix of `{text}` is `{prefix}`; {words}"));
    }
}

#[test]
fn errors_shorten_long_texts() {
    let error = "x".repeat(1 << 20).parse::<NetworkEntry>().expect_err("a long name");
    assert!(error.to_string().len() < 250);
    let error = "a\u{1b}[2J\n".parse::<NetworkEntry>().expect_err("a terminal sequence");
    assert!(error.to_string().chars().all(|sign| !sign.is_control()));
}

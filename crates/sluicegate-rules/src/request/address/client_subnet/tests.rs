//! Tests of the groups that addresses are counted in.

use std::collections::HashSet;

use super::*;
use sluicegate_testkit::Rng;

fn group(address: &str) -> ClientSubnet {
    PrefixLengths::default().group(address.parse().unwrap())
}

#[test]
fn a_million_addresses_of_one_subscriber_are_one_group() {
    let mut random = Rng::new(6);
    let network = u128::from(0x2001_0db8_0001_0002_u64) << 64;
    let expected = group("2001:db8:1:2::");
    for _ in 0..1_000_000 {
        let address = Ipv6Addr::from_bits(network | u128::from(random.number()));
        assert_eq!(PrefixLengths::default().group(address.into()), expected);
    }
    assert_ne!(group("2001:db8:1:3::"), expected);
    assert_ne!(group("2001:db8:1:1:ffff:ffff:ffff:ffff"), expected);
}

#[test]
fn every_spelling_of_an_ipv4_address_is_one_group() {
    let spellings = [
        "1.2.3.4",
        "::ffff:1.2.3.4",
        "::ffff:102:304",
        "0:0:0:0:0:ffff:102:304",
        "::FFFF:0102:0304",
    ];
    for spelling in spellings {
        assert_eq!(group(spelling), group("1.2.3.4"), "{spelling}");
    }
    for other in ["2001:db8::1.2.3.4", "::1.2.3.4", "64:ff9b::1.2.3.4", "::fffe:1.2.3.4"] {
        assert_ne!(group(other), group("1.2.3.4"), "{other}");
        assert!(group(other).to_string().ends_with("/64"), "{other}");
    }
}

#[test]
fn two_ipv4_addresses_never_share_a_group() {
    let mut random = Rng::new(7);
    let in_clothes = |address: Ipv4Addr| IpAddr::V6(address.to_ipv6_mapped());
    for _ in 0..100_000 {
        let one = Ipv4Addr::from_bits((random.number() >> 32).try_into().unwrap());
        // Often a neighbour that differs in one bit.
        let other = if random.index(2) == 0 {
            Ipv4Addr::from_bits(one.to_bits() ^ (1 << random.index(32)))
        } else {
            Ipv4Addr::from_bits((random.number() >> 32).try_into().unwrap())
        };
        let prefixes = PrefixLengths::default();
        let same = one == other;
        assert_eq!(prefixes.group(one.into()) == prefixes.group(other.into()), same);
        assert_eq!(prefixes.group(in_clothes(one)) == prefixes.group(in_clothes(other)), same);
    }
}

#[test]
fn distinct_groups_have_distinct_bytes() {
    let mut random = Rng::new(8);
    let (mut groups, mut bytes) = (HashSet::new(), HashSet::new());
    for _ in 0..200_000 {
        let v4 = u8::try_from(1 + random.index(32)).unwrap();
        let v6 = u8::try_from(1 + random.index(128)).unwrap();
        // Few bits are set, so that groups of different sizes look alike.
        let bits = 1u128 << random.index(128) | 1u128 << random.index(128);
        let address = match random.index(2) {
            0 => IpAddr::V6(Ipv6Addr::from_bits(bits)),
            _ => IpAddr::V4(Ipv4Addr::from_bits((bits >> 96).try_into().unwrap())),
        };
        let group = PrefixLengths::new(v4, v6).unwrap().group(address);
        groups.insert(group);
        bytes.insert(group.as_bytes().to_vec());
        let length = group.as_bytes().len();
        assert_eq!(length, if address.is_ipv4() { 5 } else { 9 + 8 * usize::from(v6 > 64) });
    }
    let texts: HashSet<_> = groups.iter().map(ClientSubnet::to_string).collect();
    assert_eq!((groups.len(), groups.len()), (bytes.len(), texts.len()));
}

#[test]
fn a_group_is_an_address_less_its_last_bits() {
    let mut random = Rng::new(9);
    for prefix in 1..=128 {
        for _ in 0..50 {
            let address = Ipv6Addr::from_bits(random.wide() | 1 << 127);
            let prefixes = PrefixLengths::new(32, prefix).unwrap();
            let flipped = |bit: u8| Ipv6Addr::from_bits(address.to_bits() ^ 1 << (127 - bit));
            let of = |address: Ipv6Addr| prefixes.group(address.into());
            assert_ne!(of(flipped(prefix - 1)), of(address), "bit {prefix}");
            if prefix < 128 {
                assert_eq!(of(flipped(prefix)), of(address), "bit after {prefix}");
                assert_eq!(of(flipped(127)), of(address), "last bit with {prefix}");
            }
        }
    }
}

#[test]
fn displays_groups_in_cidr_notation() {
    for (v4, v6, address, text, bytes) in [
        (32, 64, "203.0.113.9", "203.0.113.9", &[32, 203, 0, 113, 9][..]),
        (24, 64, "203.0.113.9", "203.0.113.0/24", &[24, 203, 0, 113, 0]),
        (1, 1, "203.0.113.9", "128.0.0.0/1", &[1, 128, 0, 0, 0]),
        (32, 64, "2001:db8::9", "2001:db8::/64", &[64, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0]),
        (32, 48, "2001:db8:1:2::9", "2001:db8:1::/48", &[48, 0x20, 1, 0xd, 0xb8, 0, 1, 0, 0]),
        (32, 29, "2001:dbf::", "2001:db8::/29", &[29, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0]),
        (
            32,
            128,
            "2001:db8::9",
            "2001:db8::9",
            &[128, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9],
        ),
        (8, 64, "::ffff:10.1.2.3", "10.0.0.0/8", &[8, 10, 0, 0, 0]),
    ] {
        let group = PrefixLengths::new(v4, v6).unwrap().group(address.parse().unwrap());
        assert_eq!((group.to_string().as_str(), group.as_bytes()), (text, bytes));
    }
}

#[test]
fn refuses_prefixes_out_of_range() {
    for (v4, v6, words) in [
        (0, 64, "IPv4 clients cannot be grouped by 0 bits; use 1 to 32"),
        (33, 64, "IPv4 clients cannot be grouped by 33 bits; use 1 to 32"),
        (32, 0, "IPv6 clients cannot be grouped by 0 bits; use 1 to 128"),
        (32, 129, "IPv6 clients cannot be grouped by 129 bits; use 1 to 128"),
    ] {
        assert_eq!(PrefixLengths::new(v4, v6).unwrap_err().to_string(), words);
    }
    assert_eq!(PrefixLengths::new(32, 64), Ok(PrefixLengths::default()));
}

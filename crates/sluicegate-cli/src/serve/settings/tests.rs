//! Tests of the precedence of settings.

use clap::Parser;
use sluicegate_rules::{InMemoryFiles, RuleFile};

use super::*;
use crate::args::{Args, CommandArgs};

fn settings(flags: &str, file: &str) -> Result<ServeSettings> {
    let words = "sluicegate serve".split(' ').chain(flags.split(' ').filter(|w| !w.is_empty()));
    let CommandArgs::Serve(args) = Args::parse_from(words).command else { panic!("not serve") };
    let shelf = InMemoryFiles::new().with("etc/rules.yaml", file);
    let file = RuleFile::load_with("etc/rules.yaml".as_ref(), &shelf, &|_| None).unwrap();
    assert!(file.rules.is_some(), "{}", file.report);
    let store = StoreArgs::of(&args, |_| None).unwrap_or_else(|failure| panic!("{failure}"));
    ServeSettings::of(&args, store, &file.settings)
}

/// HTTP on this port, and the others on their default ports.
fn at(http: u16) -> Addresses {
    let [http, grpc, resp] =
        [http, 7071, 7072].map(|port| Some((Ipv4Addr::LOCALHOST, port).into()));
    Addresses { http, grpc, resp }
}

const FILE: &str = "
store: { memory: { max: 8MiB, snapshot: kept, snapshot_every: 5m } }
listen: { http: { address: 127.0.0.1:1, proxy_protocol: [10.0.0.0/8] } }
";

#[test]
fn defaults_apply_without_flags_and_file() {
    let defaults = ServeSettings {
        addresses: at(7070),
        resp_password: None,
        threads: cores(),
        max_connections: 20_000,
        grpc_reflection: false,
        proxy_protocol: Vec::new(),
        redis: None,
        memory_max: None,
        snapshot: None,
        snapshot_every: Duration::from_secs(60),
        shutdown_timeout: Duration::from_secs(10),
        trace: None,
        node: None,
    };
    assert_eq!(settings("", "").unwrap(), defaults);
}

#[test]
fn the_file_overrides_defaults() {
    let by_file = ServeSettings {
        addresses: at(1),
        resp_password: None,
        threads: cores(),
        max_connections: 20_000,
        grpc_reflection: false,
        proxy_protocol: vec!["10.0.0.0/8".to_owned()],
        redis: None,
        memory_max: Some(8 << 20),
        snapshot: Some("etc/kept".into()),
        snapshot_every: Duration::from_secs(300),
        shutdown_timeout: Duration::from_secs(10),
        trace: None,
        node: None,
    };
    assert_eq!(settings("", FILE).unwrap(), by_file);
}

#[test]
fn flags_override_the_file() {
    let flags = "--http 127.0.0.1:2 --resp off --threads 3 --max-connections 5 --memory-max 2MiB --snapshot other --snapshot-every 1h \
                     --shutdown-timeout 3";
    let expected = ServeSettings {
        addresses: Addresses { resp: None, ..at(2) },
        resp_password: None,
        threads: 3,
        max_connections: 5,
        grpc_reflection: false,
        proxy_protocol: vec!["10.0.0.0/8".to_owned()],
        redis: None,
        memory_max: Some(2 << 20),
        snapshot: Some("other".into()),
        snapshot_every: Duration::from_secs(3_600),
        shutdown_timeout: Duration::from_secs(3),
        trace: None,
        node: None,
    };
    assert_eq!(settings(flags, FILE).unwrap(), expected);
}

#[test]
fn a_shared_store_comes_from_the_file_or_a_flag() {
    let shared =
        "store: { redis: { url: 'redis://cache', prefix: 'shop:' }, memory: { max: 8MiB } }";
    let by_file = settings("", shared).unwrap();
    let redis = by_file.redis.unwrap();
    assert_eq!((redis.url.reveal(), redis.prefix.as_deref()), ("redis://cache", Some("shop:")));
    assert_eq!(by_file.memory_max, Some(8 << 20), "the limit of a node's own memory");
    assert_eq!(settings("--store memory", shared).unwrap().redis, None);
    let by_flag = settings("--store redis://other", "").unwrap().redis.unwrap();
    assert_eq!(by_flag.url.reveal(), "redis://other");
    for (flags, file) in [("--snapshot kept", shared), ("--snapshot kept --store redis://x", "")] {
        let error = settings(flags, file).unwrap_err().to_string();
        assert!(error.starts_with("cannot use --snapshot with a shared store\nhint: "), "{error}");
    }
    let kept = settings("--store redis://other", FILE).unwrap();
    assert_eq!(kept.snapshot, None, "the snapshot of the file is for the memory store");
}

#[test]
fn at_least_one_listener_is_required() {
    let off = "listen: { http: off, grpc: off, resp: off }";
    for (flags, file) in [
        ("--http off --grpc off --resp off", ""),
        ("", off),
        ("--http off", "listen: { grpc: off, resp: off }"),
    ] {
        let error = settings(flags, file).unwrap_err().to_string();
        assert!(error.contains("all off\nhint: "), "{error}");
    }
    let by_flag = settings("--http 127.0.0.1:2", off).unwrap().addresses;
    let expected = Addresses { http: at(2).http, ..Addresses::default() };
    assert_eq!(by_flag, expected, "a flag turns a listener on again");
    let by_file = settings("--http off", "listen: { grpc: off, resp: 127.0.0.1:9 }").unwrap();
    let resp = Some((Ipv4Addr::LOCALHOST, 9).into());
    assert_eq!(by_file.addresses, Addresses { resp, ..Addresses::default() });
}

//! `store`, as it is read.

use sluicegate::Span;
use sluicegate_rules::{RuleFile, SentinelAccess, Settings, Shelf};

fn settings(store: &str) -> Settings {
    let text = format!("{store}\nrules: [{{ name: api, key: ip, limit: 5/min }}]\n");
    let shelf = Shelf::new().with("etc/rules.yaml", text);
    let env = |name: &str| (name == "PASSWORD").then(|| "hunter2".to_owned());
    let file = RuleFile::load_with("etc/rules.yaml".as_ref(), &shelf, &env).unwrap();
    assert!(file.rules.is_some(), "{store}: {}", file.report);
    assert!(!format!("{:?}", file.settings).contains("hunter2"));
    assert!(!file.report.to_string().contains("hunter2"), "{}", file.report);
    file.settings
}

#[test]
fn a_store_may_be_named_in_several_ways() {
    for (store, url) in [
        ("", None),
        ("store: memory", None),
        ("store: { memory: { max: 8MiB } }", None),
        ("store: redis://cache", Some("redis://cache")),
        ("store: rediss://cache:6380/2", Some("rediss://cache:6380/2")),
        ("store: { redis: redis://cache }", Some("redis://cache")),
        ("store: { redis: { url: redis://cache } }", Some("redis://cache")),
        ("store: 'redis://:${PASSWORD}@cache'", Some("redis://:hunter2@cache")),
        ("store: 'redis://:hunter2@cache'", Some("redis://:hunter2@cache")),
        ("store: { redis: 'redis://${HOST:-cache}' }", Some("redis://cache")),
        ("store: redis+sentinel://a,b,c/main", Some("redis+sentinel://a,b,c/main")),
        ("store: { redis: 'rediss+cluster://a,b,c' }", Some("rediss+cluster://a,b,c")),
    ] {
        let redis = settings(store).redis;
        assert_eq!(redis.as_ref().map(|redis| redis.url.reveal()), url, "{store}");
    }
}

#[test]
fn every_setting_of_a_shared_store_is_read() {
    let redis = settings(
        "
store:
  redis:
    url: redis://cache
    username: sluicegate
    password: ${PASSWORD}
    ca_file: ca.pem
    prefix: 'shop:'
    pages: 1_024
    deadline: 5ms
    nodes: 12
    deny_cache: off
",
    )
    .redis
    .unwrap();
    assert_eq!(redis.username.as_deref(), Some("sluicegate"));
    assert_eq!(redis.password.as_deref(), Some("hunter2"));
    assert_eq!(redis.ca_file, Some("etc/ca.pem".into()), "from the folder of the file");
    assert_eq!(redis.prefix.as_deref(), Some("shop:"));
    assert_eq!((redis.pages, redis.nodes), (Some(1_024), Some(12)));
    assert_eq!(redis.deadline, Some(Span::from_millis(5)));
    assert_eq!(redis.deny_cache, Some(false));
    let file = settings(
        "store: { redis: { url: redis://cache, password_file: /run/pw, deny_cache: on } }",
    );
    let redis = file.redis.unwrap();
    assert_eq!(redis.password_file, Some("/run/pw".into()), "it need not be there yet");
    assert_eq!(redis.deny_cache, Some(true));
}

#[test]
fn who_we_are_to_sentinels_is_read_apart_from_who_we_are_to_the_server() {
    let read = |sentinel: &str| {
        let url = "redis+sentinel://ann:${PASSWORD}@a,b/main";
        settings(&format!("store: {{ redis: {{ url: '{url}'{sentinel} }} }}")).redis.unwrap()
    };
    let none = read("");
    assert_eq!(none.sentinel, SentinelAccess::NONE);
    assert_eq!(none.url.primary(), Some("main"));
    let said = read(", sentinel: { username: bob, password: '${PASSWORD}' }");
    assert_eq!(said.sentinel.username.as_deref(), Some("bob"));
    assert_eq!(said.sentinel.password.as_deref(), Some("hunter2"));
    assert_eq!((said.username, said.password), (None, None), "the URL's are the server's");
    let in_file = read(", sentinel: { password_file: pw }").sentinel;
    assert_eq!(in_file.password_file, Some("etc/pw".into()), "from the folder of the file");
    assert_eq!((in_file.username, in_file.password), (None, None));
}

#[test]
fn callers_are_known_to_a_store_by_the_secret() {
    let rules = |secret: &str| {
        crate::gate::rules(&format!("{secret}\nrules: [{{ name: api, key: ip, limit: 5/min }}]"))
    };
    let none = rules("").store_secret();
    let one = rules("secret: 0123456789abcdef").store_secret();
    let other = rules("secret: 0123456789abcdeg").store_secret();
    assert_eq!(none, rules("").store_secret(), "the same on all nodes");
    assert!(none != one && one != other && none != other);
}

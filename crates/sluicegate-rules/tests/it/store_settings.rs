//! Tests of the settings in `store`.

use sluicegate::Span;
use sluicegate_rules::{InMemoryFiles, RuleFile, SentinelAccess, Settings};

fn settings(store: &str) -> Settings {
    let text = format!("{store}\nrules: [{{ name: api, key: ip, limit: 5/min }}]\n");
    let shelf = InMemoryFiles::new().with("etc/rules.yaml", text);
    let env = |name: &str| (name == "PASSWORD").then(|| "hunter2".to_owned());
    let file = RuleFile::load_with("etc/rules.yaml".as_ref(), &shelf, &env).unwrap();
    assert!(file.rules.is_some(), "{store}: {}", file.report);
    assert!(!format!("{:?}", file.settings).contains("hunter2"));
    assert!(!file.report.to_string().contains("hunter2"), "{}", file.report);
    file.settings
}

#[test]
fn a_store_may_be_given_in_several_forms() {
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
fn every_setting_of_a_shared_store_is_parsed() {
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
    assert_eq!(redis.password_file, Some("/run/pw".into()), "it does not have to exist yet");
    assert_eq!(redis.deny_cache, Some(true));
}

#[test]
fn credentials_for_sentinels_and_servers_are_separate() {
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
    assert_eq!((said.username, said.password), (None, None), "those in the URL are for the server");
    let in_file = read(", sentinel: { password_file: pw }").sentinel;
    assert_eq!(in_file.password_file, Some("etc/pw".into()), "from the folder of the file");
    assert_eq!((in_file.username, in_file.password), (None, None));
}

#[test]
fn the_secret_determines_the_key_of_caller_names_in_a_store() {
    let rules = |secret: &str| {
        crate::harness::rules(&format!("{secret}\nrules: [{{ name: api, key: ip, limit: 5/min }}]"))
    };
    let none = rules("").store_secret();
    let one = rules("secret: 0123456789abcdef").store_secret();
    let other = rules("secret: 0123456789abcdeg").store_secret();
    assert_eq!(none, rules("").store_secret(), "the same on all nodes");
    assert!(none != one && one != other && none != other);
}

use super::*;

#[test]
fn addresses_contain_no_secrets() {
    for (url, address) in [
        ("redis://localhost", "localhost:6379"),
        ("redis://me:hush@10.0.0.7:7000/3", "10.0.0.7:7000"),
        ("rediss://me:hush@limits.example.com:6380", "limits.example.com:6380"),
        ("redis://[::1]:7000", "[::1]:7000"),
        ("redis+sentinel://me:hush@a,b:7000,[::1]/main", "a:26379,b:7000,[::1]:26379/main"),
        ("rediss+cluster://me:hush@a,b:7000", "a:6379,b:7000"),
    ] {
        let options = Options::new(url).unwrap();
        assert_eq!(options.address(), address);
        assert!(!format!("{options:?}").contains("hush"), "{options:?}");
    }
    assert!(Options::new("rediss://a").unwrap().is_encrypted());
    assert!(!Options::new("redis://a").unwrap().is_encrypted());
    assert!(Options::new("rediss+sentinel://a,b/main").unwrap().is_encrypted());
}

#[test]
fn invalid_options_are_rejected() {
    for url in [
        "",
        "localhost:6379",
        "http://localhost",
        "redis://",
        "redis://:x",
        "redis+://a",
        "redis+ring://a,b",
        "redis+sentinel://a,b",
        "redis+sentinel:///main",
        "redis+sentinel://a,,b/main",
        "redis+sentinel://a:0/main",
        "redis+cluster://",
        "redis+cluster://a,b/1",
        "redis+cluster://a?b=c",
    ] {
        let error = Options::new(url).unwrap_err().to_string();
        assert!(error.starts_with("cannot ") && error.contains("redis://"), "{url}: {error}");
    }
    let options = || Options::new("redis://localhost").unwrap();
    for prefix in ["a{b", "a}b", "a b", "a\nb", &"x".repeat(65)] {
        assert_eq!(options().prefix(prefix).unwrap_err(), OptionsError::Prefix, "{prefix}");
    }
    assert!(options().prefix(&"x".repeat(64)).is_ok() && options().prefix("").is_ok());
    for pages in [0, 3, 1 << 21] {
        assert!(options().pages(pages).is_err(), "{pages}");
    }
    assert!(options().pages(1).is_ok() && options().pages(1 << 20).is_ok());
    for micros in [0, 999, 1_000_001] {
        assert!(options().deadline(Duration::from_micros(micros)).is_err(), "{micros}");
    }
}

#[test]
fn urls_select_deployment_and_credentials() {
    let options = Options::new("redis+sentinel://me:a%2Fb@h1,h2:1/main/3").unwrap();
    let expected = Deployment::Sentinel {
        sentinels: vec![Address::new("h1", 26_379), Address::new("h2", 1)],
        name: "main".to_owned(),
    };
    assert_eq!(options.deployment, expected);
    let settings = options.connection.redis_settings();
    assert_eq!((settings.username(), settings.password()), (Some("me"), Some("a/b")));
    assert_eq!(settings.db(), 3);
    assert_eq!(options.sentinel.password(), None, "sentinels have passwords of their own");
    let options = options.sentinel_access(Some("watch"), "hush".to_owned());
    assert_eq!(options.sentinel.username(), Some("watch"));
    assert!(!format!("{options:?}").contains("hush"));
}

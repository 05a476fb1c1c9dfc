//! Tests of store URLs and their errors.

use super::*;

#[test]
fn reads_urls_and_hides_their_passwords() {
    for (text, shown, username, password) in [
        ("redis://127.0.0.1", "redis://127.0.0.1", false, false),
        ("redis://cache.internal:6380", "redis://cache.internal:6380", false, false),
        ("rediss://cache/3", "rediss://cache/3", false, false),
        ("redis://[::1]:6379/0", "redis://[::1]:6379/0", false, false),
        ("redis://[::1]", "redis://[::1]", false, false),
        ("redis://ann@cache:1", "redis://ann@cache:1", true, false),
        ("redis://ann:s3cret@cache:1/2", "redis://ann:***@cache:1/2", true, true),
        ("redis://:s3cret@cache", "redis://:***@cache", false, true),
        ("redis://ann:@cache", "redis://ann:@cache", true, false),
        ("redis://:a:b@c@cache", "redis://:***@cache", false, true),
        ("redis://:p%2Fw@cache/", "redis://:***@cache/", false, true),
        (
            "redis+sentinel://a,b:26380,[::1]/main",
            "redis+sentinel://a,b:26380,[::1]/main",
            false,
            false,
        ),
        (
            "rediss+sentinel://ann:s3cret@a,b/main/3",
            "rediss+sentinel://ann:***@a,b/main/3",
            true,
            true,
        ),
        (
            "redis+cluster://:s3cret@a:7000,[::1]:7001",
            "redis+cluster://:***@a:7000,[::1]:7001",
            false,
            true,
        ),
        ("rediss+cluster://a/0", "rediss+cluster://a/0", false, false),
    ] {
        let url: StoreUrl = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(url.to_string(), shown);
        assert_eq!(format!("{url:?}"), shown);
        assert_eq!((url.has_username(), url.has_password()), (username, password), "{text}");
        assert_eq!(url.reveal(), text);
        assert_eq!(url.is_encrypted(), text.starts_with("rediss"), "{text}");
    }
}

#[test]
fn errors_name_the_fix_and_hide_the_rest_of_the_url() {
    for (text, words) in [
        ("", "this is not the URL of a store; use `memory`, `redis://host:port`"),
        ("localhost:6379", "this is not the URL of a store"),
        ("s3cret", "this is not the URL of a store"),
        ("http://s3cret@cache", "the scheme `http://` is unknown; use `memory`"),
        ("unix:///s3cret", "the scheme `unix://` is unknown"),
        ("valkey://s3cret@cache", "a Valkey server has the URL of a Redis"),
        ("sentinel://s3cret@cache/main", "the scheme `sentinel://` is unknown"),
        ("redis+sentinels://s3cret@cache", "the scheme `redis+sentinels://` is unknown"),
        ("redis+sentinel://s3cret@cache", "does not name the primary of the sentinels"),
        ("redis+sentinel://s3cret@cache/", "does not name the primary of the sentinels"),
        ("redis+sentinel://s3cret@cache//0", "does not name the primary of the sentinels"),
        ("redis+sentinel://:s3cret@cache/main/x", "with the name of the primary"),
        ("redis+sentinel://:s3cret@a,,b/main", "no host"),
        ("redis+sentinel://:s3cret@a,/main", "no host"),
        ("redis+sentinel:///main", "no host"),
        ("redis+sentinel://:s3cret@a:0,b/main", "the port"),
        ("redis+cluster://:s3cret@a,b:x", "the port"),
        ("redis+cluster://:s3cret@a,b/1", "only the database 0"),
        ("redis+cluster://s3cret@", "no host"),
        ("redis://:s3cret@a,b", "several hosts"),
        ("REDIS://s3cret@cache", "the scheme `REDIS://` is unknown"),
        ("redis://", "no host"),
        ("redis://:6379", "no host"),
        ("redis://:s3cret@", "no host"),
        ("redis://[::1", "no host"),
        ("redis://[s3cret]", "no host"),
        ("redis://[::1]s3cret", "no host"),
        ("redis://cache:", "the port"),
        ("redis://cache:0", "the port"),
        ("redis://cache:65536", "the port"),
        ("redis://cache:+1", "the port"),
        ("redis://:s3cret/x@cache", "the number of a database"),
        ("redis://cache/-1", "the number of a database"),
        ("redis://cache/0/1", "the number of a database"),
        ("redis://cache/0?s3cret=1", "contains `?` or `#`"),
        ("redis://:s3#cret@cache", "contains `?` or `#`"),
        ("redis://:s3 cret@cache", "write a space as %20"),
        ("s3cret@x://cache", "this is not the URL of a store"),
    ] {
        let error = text.parse::<StoreUrl>().expect_err(text).to_string();
        assert!(error.contains(words), "{text}: {error}");
        assert!(!error.contains("s3"), "{text}: {error}");
    }
}

#[test]
fn only_sentinel_urls_have_a_primary() {
    for (text, primary) in [
        ("redis://cache/3", None),
        ("redis+cluster://a,b", None),
        ("redis+sentinel://a/main", Some("main")),
        ("redis+sentinel://ann:p%2Fw@a,b:1/my-main.1/", Some("my-main.1")),
        ("rediss+sentinel://a,b/main/3", Some("main")),
    ] {
        let url: StoreUrl = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((url.primary(), url.is_sentinel()), (primary, primary.is_some()), "{text}");
    }
}

#[test]
fn hosts_and_databases_are_separated() {
    let host = |name: &str, port| (name.to_owned(), port);
    for (text, hosts, database) in [
        ("redis://cache", vec![host("cache", None)], ""),
        ("redis://ann:p@[::1]:7000/3", vec![host("::1", Some(7_000))], "3"),
        ("redis+cluster://a:1,[::1]/0", vec![host("a", Some(1)), host("::1", None)], "0"),
        ("redis+sentinel://a,b:65535/main", vec![host("a", None), host("b", Some(65_535))], ""),
        ("redis+sentinel://a/main/3", vec![host("a", None)], "3"),
    ] {
        let url: StoreUrl = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((url.hosts(), url.database()), (&hosts[..], database), "{text}");
        assert_eq!(url.is_cluster(), text.starts_with("redis+cluster"), "{text}");
    }
}

#[test]
fn rejects_more_than_64_hosts() {
    let of = |hosts: usize| format!("redis+cluster://{}", vec!["a"; hosts].join(","));
    assert!(of(64).parse::<StoreUrl>().is_ok());
    assert_eq!(of(65).parse::<StoreUrl>(), Err(StoreUrlError::TooManyHosts));
}

use super::*;

#[test]
fn an_address_is_told_without_secrets() {
    for (url, address) in [
        ("redis://localhost", "localhost:6379"),
        ("redis://me:hush@10.0.0.7:7000/3", "10.0.0.7:7000"),
        ("rediss://me:hush@limits.example.com:6380", "limits.example.com:6380"),
        ("redis://[::1]:7000", "[::1]:7000"),
    ] {
        let options = Options::new(url).unwrap();
        assert_eq!(options.address(), address);
        assert!(!format!("{options:?}").contains("hush"), "{options:?}");
    }
    assert!(Options::new("rediss://a").unwrap().is_encrypted());
    assert!(!Options::new("redis://a").unwrap().is_encrypted());
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for url in
        ["", "localhost:6379", "http://localhost", "redis+cluster://a,b", "redis://", "redis://:x"]
    {
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

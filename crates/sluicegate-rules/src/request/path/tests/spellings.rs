//! Tests that a rule matches its route in hundreds of spellings.

use super::{Folding, meets, normal, pattern, shown};

/// Prefixes after which `checkout` is still the same route.
const FRONTS: [&str; 24] = [
    "/",
    "",
    "//",
    "///",
    "/./",
    "/../",
    "/../../",
    "/x/../",
    "/x/y/../../",
    "/%2e/",
    "/%2E%2e/",
    "/x/%2E./",
    "/x/.%2e/",
    "\\",
    "/\\",
    "/x\\..\\",
    "/;a=b/",
    "/.;a/",
    "/x/..;a=b/",
    "http://shop.example/",
    "HTTPS://Shop.Example:443//",
    "http://u:p@[::1]:80/x/../",
    "%2F",
    "/x%2f..%5C",
];

/// Spellings of the word `checkout`.
const WORDS: [&str; 8] = [
    "checkout",
    "%63heckout",
    "chec%6bout",
    "chec%6Bout",
    "checkou%74",
    "%63%68%65%63%6B%6F%75%74",
    "%63h%65c%6bo%75t",
    "check%6fut",
];

/// Suffixes after which `checkout` is still the same route.
const ENDS: [&str; 24] = [
    "",
    "/",
    "//",
    "/.",
    "/./",
    "/x/..",
    "/x/../",
    "/%2e",
    "/%2E%2e/checkout",
    "\\",
    "\\.\\",
    ";",
    ";a=b",
    ";a=b;c",
    ";a/",
    "/;a",
    "?",
    "?a=b",
    "?/../x",
    "#x",
    "/?a=/b",
    "%2F",
    "%5c",
    "%2fx%2F..",
];

#[test]
fn a_rule_matches_more_than_five_hundred_spellings_of_its_route() {
    let rule = pattern("/checkout");
    let mut spellings = std::collections::HashSet::new();
    for front in FRONTS {
        for word in WORDS {
            for end in ENDS {
                let target = format!("{front}{word}{end}");
                assert!(meets(target.as_bytes(), &rule), "{target}");
                assert_eq!(shown(&normal(target.as_bytes())), "/checkout", "{target}");
                spellings.insert(target);
            }
        }
    }
    assert!(spellings.len() > 500, "{}", spellings.len());
}

#[test]
fn rules_match_a_longer_route_in_every_spelling() {
    let rules = ["/api/v1/users/{id}/pay", "/api/**", "/api/*/users/*/*", "/**/pay", "/api/v*/**"];
    let spellings = [
        "/api/v1/users/42/pay",
        "//api//v1//users//42//pay//",
        "/api/./v1/users/42/pay",
        "/api/x/../v1/users/42/pay",
        "/api/v1;v=2/users;x/42;y=1/pay;z",
        "/%61pi/v%31/users/42/pay",
        "/api\\v1\\users\\42\\pay",
        "/api%2Fv1%2fusers%2F42%2Fpay",
        "/api%5Cv1%5cusers/42/pay",
        "https://api.example/api/v1/users/42/pay?x=1#y",
        "/api/v1/users/4%32/pay/.",
        "/../api/v1/users/7/../42/pay",
        "/api/v1/users/42/refund/..;/pay",
        "api/v1/users/42/pay",
        "/api/v1/users/42/pay/%2e%2e/pay",
        "/api%2fv1%5C..%2Fv1/users/42/pay",
    ];
    for rule in rules.map(pattern) {
        for target in spellings {
            assert!(meets(target.as_bytes(), &rule), "{target} {rule}");
        }
    }
}

#[test]
fn case_is_folded_only_if_configured() {
    let rule = pattern("/Check*/{Step}/%2Fa").folded(Folding::new(true));
    let spellings = ["/checkOUT/1/%2Fa", "/CHECK/ONE/%2FA", "/%43heck/x/%2fA?Q", "/check/x/%2fa"];
    for target in spellings {
        let paths = super::Paths::of(target.as_bytes(), Folding::new(true));
        assert!(paths.readings().any(|path| rule.matches(path)), "{target}");
        assert!(!meets(target.as_bytes(), &pattern("/CHECKout/**")), "{target}");
    }
    assert_eq!(super::Paths::of(b"/Checkout/A?Q", Folding::new(true)).main(), b"/checkout/a");
    assert_eq!(rule.names().collect::<Vec<_>>(), ["Step"]);
}

/// Spellings that Express, IIS, Rails and others read as `checkout`, at the end of a path and
/// within.
#[test]
fn characters_that_are_ignored_at_the_end_of_a_segment_do_not_matter() {
    let folding = Folding::new(true);
    let folding = [b'.', b' ', b'\n'].into_iter().fold(folding, Folding::ignoring_trailing);
    let rules = ["/Checkout", "/checkout."].map(|text| pattern(text).folded(folding));
    let within = pattern("/{tenant}/Orders.%20/**").folded(folding);
    let meets = |target: &str, rule: &super::Pattern| {
        super::Paths::of(target.as_bytes(), folding).readings().any(|path| rule.matches(path))
    };
    for front in FRONTS {
        for word in WORDS {
            for end in
                ["", ".", "..", "...", "%20", "%0a", "%0A", "%2e%20", ". .", "%20/", "/%20", "./."]
            {
                let target = format!("{front}{word}{end}?x");
                for rule in &rules {
                    assert!(meets(&target, rule), "{target}");
                }
            }
        }
    }
    for target in ["/me/ORDERS/1", "/me/orders./1", "/me/orders%20%0a", "/me/orders.%20/./x"] {
        assert!(meets(target, &within), "{target}");
    }
    for other in
        ["/checkout%09", "/.checkout", "/check.out", "/%20checkout", "/checkout%20x", "/me/order"]
    {
        assert!(!rules.iter().chain([&within]).any(|rule| meets(other, rule)), "{other}");
    }
    // Dots still change the path.
    for (target, main) in
        [("/a/..%20/b", "/b"), ("/a/.%20/b", "/a/b"), ("/a/b.", "/a/b"), ("/a/. .", "/a")]
    {
        let paths = super::Paths::of(target.as_bytes(), folding);
        assert_eq!(shown(paths.main()), main, "{target}");
        let again = super::Paths::of(paths.main(), folding);
        assert_eq!(again.main(), paths.main(), "{target}: normal twice");
    }
}

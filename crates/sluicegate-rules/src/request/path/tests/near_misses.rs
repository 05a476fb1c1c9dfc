//! Tests that targets that only resemble a route do not match its rule.

use super::{meets, pattern};

const MISSES: [(&str, &str); 54] = [
    ("/checkout", "/"),
    ("/checkout", "/Checkout"),
    ("/checkout", "/%43heckout"),
    ("/checkout", "/checkouts"),
    ("/checkout", "/xcheckout"),
    ("/checkout", "/checkout/1"),
    ("/checkout", "/x/checkout"),
    ("/checkout", "/checkout/.."),
    ("/checkout", "/checkout/../x"),
    ("/checkout", "/checkout/..;x"),
    ("/checkout", "/check/out"),
    ("/checkout", "/check%2Fout"),
    ("/checkout", "/checkout%20"),
    ("/checkout", "/checkout "),
    ("/checkout", "/checkout%00"),
    ("/checkout", "/checkout%3Fa=b"),
    ("/checkout", "/checkout%23a"),
    ("/checkout", "/checkout%3Ba"),
    ("/checkout", "/%2563heckout"),
    ("/checkout", "/%25%36%33heckout"),
    ("/checkout", "/%zzcheckout"),
    ("/checkout", "/...checkout"),
    ("/checkout", "/.../checkout"),
    ("/checkout", "/..%252Fcheckout"),
    ("/checkout", "/?/checkout"),
    ("/checkout", "/;/../x;/checkout"),
    ("/checkout", "/#/checkout"),
    ("/checkout", "/x?y=/../checkout"),
    ("/checkout", "http://checkout"),
    ("/checkout", "http://checkout/"),
    ("/checkout", "http://h/x/checkout"),
    ("/checkout", "/http://h/checkout"),
    ("/checkout", "*"),
    ("/checkout", ""),
    ("/checkout", "/checkou\u{0442}"),
    ("/", "/x"),
    ("/", "*"),
    ("/*", "/"),
    ("/*", "*"),
    ("/*", "/a/b"),
    ("/users/{id}", "/users"),
    ("/users/{id}", "/users/"),
    ("/users/{id}", "/users/1/2"),
    ("/users/{id}", "/users/1/.."),
    ("/reports/**", "/reportsx"),
    ("/reports/**", "/reports%20/x"),
    ("/a/**/z", "/a"),
    ("/a/**/z", "/a/z/y"),
    ("/a/**/a", "/a"),
    ("/files/*.pdf", "/files/a.pdfx"),
    ("/files/*.pdf", "/files/a/b.pdf"),
    ("/v*/x", "/w1/x"),
    ("/*ab*ab*", "/xabx"),
    ("/a*a", "/a"),
];

#[test]
fn near_misses_do_not_match_the_rule() {
    for (rule, target) in MISSES {
        assert!(!meets(target.as_bytes(), &pattern(rule)), "{rule} {target}");
    }
}

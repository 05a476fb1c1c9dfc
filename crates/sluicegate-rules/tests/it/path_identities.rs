//! Tests of identities from the path: no spelling impersonates another caller.

use crate::harness::{Call, NOVEMBER, PlanResult, TestLimiter, rules};
use sluicegate_rules::{Directory, RuleSet};

fn named(source: &str) -> RuleSet {
    tenants("", source)
}

fn tenants(paths: &str, source: &str) -> RuleSet {
    let rule = "rules: [{ name: per-tenant, key: tenant, limit: 5/min }]";
    rules(&format!("{paths}\nidentify: {{ tenant: {source} }}\n{rule}"))
}

/// The tenant of a path according to the explanation.
fn tenant(rules: &RuleSet, target: &str) -> Option<String> {
    let call = Call::to("GET", target);
    let explained = rules.explain(&Directory::new(), &call.request(), NOVEMBER).to_string();
    let line = explained.lines().find_map(|line| line.trim().strip_prefix("tenant = "));
    let value = line.unwrap().split("  (").next().unwrap();
    (!value.starts_with("missing")).then(|| value.to_owned())
}

/// Paths that upstreams read as those of different tenants, or of none.
const DOUBTFUL: [&str; 23] = [
    "/tenants/me/../rN/x",
    "/tenants/rN/../me/x",
    "/tenants/me/%2e%2e/rN/x",
    "/tenants/me/.%2E/rN/x",
    "/tenants/rN/./../me/x",
    "/tenants/me\\..\\rN/x",
    "/tenants/me/..%2FrN/x",
    "/tenants/me%2F..%2FrN/x",
    "/tenants/me%2FrN/x",
    "/tenants/me%5CrN/x",
    "/tenants/me%5c..%5crN/x",
    "/tenants/me;rN/x",
    "/tenants/me;v=1/x",
    "/tenants/rN/..;/me/x",
    "/tenants//rN/x",
    "/tenants///me/x",
    "/tenants//../me/x",
    "/tenants/me%00rN/x",
    "/tenants/me%00/x",
    "/tenants/%00/x",
    "/x/../tenants/rN/y",
    "/x/..%2ftenants/rN/y",
    "/tenants/a%2Fb%5Cc;d\\e/f//../g",
];

#[test]
fn an_ambiguous_path_has_no_identity() {
    for source in ["{ path: '/tenants/{tenant}/**' }", "{ segment: 2 }"] {
        let rules = named(source);
        for target in DOUBTFUL {
            assert_eq!(tenant(&rules, target), None, "{source}: {target}");
        }
    }
    // Its second segment is the same in every reading.
    let target = "/x\\..\\tenants/rN/y";
    assert_eq!(tenant(&named("{ path: '/tenants/{tenant}/**' }"), target), None);
    assert_eq!(tenant(&named("{ segment: 2 }"), target).as_deref(), Some("rN"));
}

#[test]
fn an_unambiguous_path_names_the_tenant() {
    let rules = named("{ path: '/tenants/{tenant}/**' }");
    for target in [
        "/tenants/me",
        "/tenants/me/",
        "/tenants/me/x",
        "/tenants/me//x",
        "//tenants/me/x",
        "/tenants/%6d%65/x",
        "/tenants/me/x/../y",
        "/tenants/me/./y",
        "/tenants/me/a%2Fb",
        "/tenants/me/a;v=1",
        "/tenants/me/x%00",
        "http://api.example/tenants/me/x?y",
    ] {
        assert_eq!(tenant(&rules, target).as_deref(), Some("me"), "{target}");
    }
    assert_eq!(tenant(&rules, "/tenants/ME/x").as_deref(), Some("ME"));
    assert_eq!(tenant(&rules, "/tenants/me./x").as_deref(), Some("me."));
}

#[test]
fn ambiguous_paths_share_the_counter_of_unidentified_callers() {
    let text = "
identify: { tenant: { path: '/tenants/{tenant}/**' } }
rules: [{ name: per-tenant, key: tenant, limit: 5/min }]
block: [{ tenant: mallory }]
allow: [{ tenant: admin }]
";
    let gate = TestLimiter::of(text);
    let allowed = (0..50).filter(|number| {
        let target = format!("/tenants/me/../r{number}/x");
        gate.ask(&Call::to("GET", target)).allowed
    });
    assert_eq!(allowed.count(), 5);
    // Every possible tenant is looked up in the block-list, and none in the allow-list.
    let outcome = |target: &str| gate.ask(&Call::to("GET", target)).outcome;
    assert_eq!(outcome("/tenants/mallory/../bob/x"), PlanResult::Blocked);
    assert_eq!(outcome("/tenants/bob/../mallory/x"), PlanResult::Blocked);
    assert_eq!(outcome("/tenants//mallory/x"), PlanResult::Blocked);
    assert_eq!(outcome("/tenants/admin/../bob/x"), PlanResult::Asked);
    assert_eq!(outcome("/tenants/admin/x"), PlanResult::Free);
}

#[test]
fn folding_applies_to_matching_and_to_identities_alike() {
    let paths = "paths: { ignore_case: true, ignore_trailing: ['/', '.', '%20', '%0a'] }";
    let rules = tenants(paths, "{ path: '/Tenants/{tenant}/**' }");
    for target in [
        "/tenants/me/x",
        "/TENANTS/Me/x",
        "/tenants./ME.%20/x",
        "/tenants/me%0a",
        "/tenants%20/me.../",
    ] {
        assert_eq!(tenant(&rules, target).as_deref(), Some("me"), "{target}");
    }
    let text = format!(
        "{paths}
identify: {{ tenant: {{ segment: 1 }} }}
rules:
  - {{ name: logins, match: {{ path: /login }}, key: [], limit: 3/min }}
block: [{{ tenant: Mallory. }}]
"
    );
    let gate = TestLimiter::of(&text);
    let allowed = ["/login", "/LOGIN", "/login.", "/login%20", "/login%0a", "/Login/%20"];
    let allowed = allowed.map(|target| gate.ask(&Call::to("GET", target)).allowed);
    assert_eq!(allowed, [true, true, true, false, false, false]);
    assert_eq!(gate.ask(&Call::to("GET", "/MALLORY/x")).outcome, PlanResult::Blocked);
}

//! Changes of the rule file while the program runs.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;

use super::eventually::eventually;
use super::http::{metrics, post, status};
use super::program::{Folder, Serving, sluicegate};

const HEAD: &str = "listen: { http: 127.0.0.1:0 }\n";

/// A file with one rule.
fn rule(limit: &str) -> String {
    format!("{HEAD}rules: [{{ name: api, key: ip, limit: {limit} }}]\n")
}

fn serve(path: &str) -> Serving {
    Serving::start(sluicegate(&["serve", "--config", path]))
}

/// Polls with a cost of 0 until the limit is this.
fn see_limit(serving: &Serving, limit: u64) -> String {
    let look = r#"{"attributes":{"ip":"203.0.113.9","key":"k1"},"cost":0}"#;
    let wanted = format!("\"limit\":{limit},");
    eventually(|| post(&serving.address, "/v1/check", look), |answer| answer.contains(&wanted))
}

fn see_metric(serving: &Serving, line: &str) {
    let wanted = format!("\n{line}\n");
    eventually(|| metrics(&serving.address), |scrape| scrape.contains(&wanted));
}

fn lines<'l>(log: &'l str, words: &str) -> Vec<&'l str> {
    log.lines().filter(|line| line.contains(words)).collect()
}

#[test]
fn reloads_a_file_saved_in_place() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &rule("3/h"));
    let serving = serve(&path);
    see_limit(&serving, 3);
    folder.write("rules.yaml", &rule("5/h"));
    see_limit(&serving, 5);
    see_metric(&serving, r#"sluicegate_rules_reloads_total{outcome="loaded"} 1"#);
    let (code, _, log) = serving.stop("-TERM");
    assert_eq!(code, Some(0));
    let reloaded = lines(&log, "rules reloaded");
    assert_eq!(reloaded.len(), 1, "{log}");
    assert!(reloaded[0].ends_with(&format!("rules reloaded: 1 rule from {path}")), "{log}");
    assert!(reloaded[0].contains(" INFO "), "{log}");
}

#[test]
fn reloads_a_file_renamed_over_it() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &rule("3/h"));
    let serving = serve(&path);
    // The same size and, as after `mv`, an earlier modification time.
    folder.write("new.yaml.tmp", &rule("4/h"));
    fs::rename(folder.at("new.yaml.tmp"), &path).unwrap();
    see_limit(&serving, 4);
}

#[test]
fn used_units_stay_used_after_a_reload() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &rule("2/h"));
    let serving = serve(&path);
    let take = || status(&serving.address, "/v1/check", r#"{"attributes":{"ip":"203.0.113.9"}}"#);
    assert_eq!([(); 3].map(|()| take()), ["200", "200", "429"]);
    folder.write("rules.yaml", &rule("1/h"));
    see_limit(&serving, 1);
    assert_eq!(take(), "429", "no second burst");
}

/// A folder as Kubernetes mounts one: files are links through `..data`, which is swapped.
#[test]
fn reloads_after_a_link_is_retargeted() {
    let folder = Folder::new();
    let mount = |version: &str, limit: &str| {
        folder.write(&format!("mount/{version}/rules.yaml"), &rule(limit));
        symlink(version, folder.at("mount/..new")).unwrap();
        fs::rename(folder.at("mount/..new"), folder.at("mount/..data")).unwrap();
    };
    mount("..1", "3/h");
    symlink("..data/rules.yaml", folder.at("mount/rules.yaml")).unwrap();
    for config in [folder.at("mount/rules.yaml"), folder.at("mount")] {
        mount("..1", "3/h");
        let serving = serve(&config);
        see_limit(&serving, 3);
        mount("..2", "4/h");
        see_limit(&serving, 4);
        mount("..3", "5/h");
        see_limit(&serving, 5);
    }
}

#[test]
fn sighup_reloads_at_once() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &rule("3/h"));
    let serving = serve(&path);
    for loaded in 1..=3 {
        serving.signal("-HUP");
        let line = format!(r#"sluicegate_rules_reloads_total{{outcome="loaded"}} {loaded}"#);
        see_metric(&serving, &line);
    }
    folder.write("rules.yaml", &rule("7/h"));
    serving.signal("-HUP");
    see_limit(&serving, 7);
    assert_eq!(serving.stop("-TERM").0, Some(0));
}

#[test]
fn an_invalid_file_keeps_the_rules_and_is_logged_once() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &rule("3/h"));
    let serving = serve(&path);
    see_metric(&serving, "sluicegate_rules_stale 0");
    let broken = rule("3/h").replace("limit:", "limt:");
    folder.write("rules.yaml", &broken);
    see_metric(&serving, "sluicegate_rules_stale 1");
    see_metric(&serving, r#"sluicegate_rules_reloads_total{outcome="refused"} 1"#);
    see_limit(&serving, 3);
    // The same errors again, which are not logged again.
    folder.write("rules.yaml", &broken);
    see_metric(&serving, r#"sluicegate_rules_reloads_total{outcome="refused"} 2"#);

    folder.write("rules.yaml", &rule("6/h"));
    see_limit(&serving, 6);
    see_metric(&serving, "sluicegate_rules_stale 0");
    let (_, _, log) = serving.stop("-TERM");
    let refused = lines(&log, "rules not reloaded: ");
    assert_eq!(refused.len(), 1, "{log}");
    assert!(refused[0].contains(" ERROR "), "{log}");
    assert!(refused[0].ends_with(&format!(" in {path}; the previous 1 rule stays in force")));
    assert!(log.contains("error[unknown-field]: there is no field `limt` in a rule\n"), "{log}");
    assert!(log.contains(&format!("--> {path}:2:")), "{log}");
    assert!(log.contains("did you mean `limit`?"), "{log}");
}

#[test]
fn a_missing_file_keeps_the_rules() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &rule("3/h"));
    let serving = serve(&path);
    fs::remove_file(&path).unwrap();
    see_metric(&serving, "sluicegate_rules_stale 1");
    see_limit(&serving, 3);
    folder.write("rules.yaml", &rule("4/h"));
    see_limit(&serving, 4);
    let (_, _, log) = serving.stop("-TERM");
    assert_eq!(lines(&log, "there is no such file").len(), 1, "{log}");
}

#[test]
fn reloads_changed_and_new_included_files() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &format!("{HEAD}include: [more/*.yaml]\n"));
    folder.write("more/a.yaml", "rules: [{ name: api, key: ip, limit: 3/h }]\n");
    let serving = serve(&path);
    see_limit(&serving, 3);
    folder.write("more/a.yaml", "rules: [{ name: api, key: ip, limit: 4/h }]\n");
    see_limit(&serving, 4);
    folder.write("more/b.yaml", "rules: [{ name: strict, key: ip, limit: 1/h }]\n");
    see_metric(&serving, "sluicegate_rules 2");
    see_limit(&serving, 1);
    folder.write("more/b.yaml", "rules: [{ name: strict, key: ip, limit: 2/h }]\n");
    see_limit(&serving, 2);
    fs::remove_file(folder.at("more/b.yaml")).unwrap();
    see_limit(&serving, 4);
}

#[test]
fn reloads_a_changed_table_of_tiers() {
    let folder = Folder::new();
    let rules = format!(
        "{HEAD}
identify:
  key:  {{ header: x-key }}
  tier: {{ lookup: key, table: tiers.csv, default: free }}
tiers:
  free: {{ api: 10/h }}
  paid: {{ api: 20/h }}
rules: [{{ name: api, key: key, limit: {{ tier: api }} }}]
"
    );
    let path = folder.write("rules.yaml", &rules);
    folder.write("tiers.csv", "caller,tier\nk1,free\n");
    let serving = serve(&path);
    see_limit(&serving, 10);
    folder.write("tiers.csv", "caller,tier\nk1,paid\n");
    see_limit(&serving, 20);
    folder.write("tiers.csv", "caller,tier\nk1,payed\n");
    see_metric(&serving, "sluicegate_rules_stale 1");
    see_limit(&serving, 20);
    folder.write("tiers.csv", "caller,tier\n");
    see_limit(&serving, 10);
}

#[test]
fn warns_about_settings_that_need_a_restart() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &rule("3/h"));
    let serving = serve(&path);
    let changed = rule("4/h").replace(":0 }", ":1 }") + "store: { memory: { max: 8MiB } }\n";
    folder.write("rules.yaml", &changed);
    see_limit(&serving, 4);
    folder.write("rules.yaml", &changed.replace("4/h", "5/h"));
    see_limit(&serving, 5);
    let (_, _, log) = serving.stop("-TERM");
    for setting in ["store", "listen"] {
        let words = format!("`{setting}` has changed in {path}; it takes effect at the next start");
        let warnings = lines(&log, &words);
        assert_eq!(warnings.len(), 1, "{log}");
        assert!(warnings[0].contains(" WARN "), "{log}");
    }
}

#[test]
fn logs_warnings_of_a_reloaded_file() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &rule("3/h"));
    let serving = serve(&path);
    let burst = "rules: [{ name: api, key: ip, limit: 6/h }, { name: b, key: ip, limit: 1/min burst 500 }]\n";
    folder.write("rules.yaml", &format!("{HEAD}{burst}"));
    see_limit(&serving, 6);
    let (_, _, log) = serving.stop("-TERM");
    assert_eq!(lines(&log, "WARN").len(), 1, "{log}");
    assert!(log.contains("warning[large-burst]: "), "{log}");
}

//! Tests of a reloader that is polled without waiting.

use std::fs;

use sluicegate::{Limiter, Memory};
use sluicegate_rules::RuleFile;

use super::*;

/// A rule file and its reloader; the file is removed after the test.
struct WatchedFile {
    folder: PathBuf,
    reloader: RuleReloader<Memory>,
}

fn rules(count: usize) -> String {
    let rule =
        |number| format!("  - {{ name: rule-{number}, key: ip, limit: {}/h }}\n", number + 1);
    let rules: String = (0..count).map(rule).collect();
    format!("rules:\n{rules}")
}

impl WatchedFile {
    fn new(test: &str) -> Self {
        let name = format!("sluicegate-reloader-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("rules.yaml");
        fs::write(&path, rules(1)).unwrap();
        let mut reading = LoadedRules::first(&path);
        let file: &mut RuleFile = reading.file.as_mut().unwrap();
        let limiter =
            Arc::new(RuleLimiter::new(Limiter::in_memory(), file.rules.take().unwrap()).unwrap());
        let reloader = RuleReloader::new(limiter, path, &reading, Reloads::new());
        Self { folder, reloader }
    }

    fn write(&self, text: &str) {
        fs::write(&self.reloader.path, text).unwrap();
    }

    fn in_force(&self) -> Arc<RuleSet> {
        Arc::clone(&self.reloader.limiter.rules())
    }

    /// The settings that need a restart.
    fn changed(&self) -> Vec<&'static str> {
        let secret = self.reloader.limiter.rules().store_secret();
        self.reloader.changed(&self.reloader.settings, secret).collect()
    }

    /// The number of replacements during so many polls.
    fn replaced(&mut self, polls: usize) -> usize {
        // All are kept, so that no two of them have the same address.
        let mut seen = vec![self.in_force()];
        for _ in 0..polls {
            self.reloader.poll();
            let now = self.in_force();
            if seen.last().is_none_or(|last| !Arc::ptr_eq(last, &now)) {
                seen.push(now);
            }
        }
        seen.len() - 1
    }
}

impl Drop for WatchedFile {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn reads_a_change_once_at_the_second_poll() {
    let mut watched = WatchedFile::new("once");
    assert_eq!(watched.replaced(3), 0);
    watched.write(&rules(2));
    assert_eq!(watched.replaced(1), 0);
    assert_eq!(watched.replaced(1), 1);
    assert_eq!(watched.replaced(5), 0);
    assert_eq!(watched.in_force().rules().len(), 2);
}

#[test]
fn waits_while_a_file_is_being_written() {
    let mut watched = WatchedFile::new("written");
    for count in 2..6 {
        watched.write(&rules(count));
        assert_eq!(watched.replaced(1), 0);
    }
    assert_eq!(watched.replaced(1), 1);
    assert_eq!(watched.in_force().rules().len(), 5);
}

#[test]
fn invalid_rules_are_read_once_and_do_not_replace() {
    let mut watched = WatchedFile::new("invalid");
    watched.write("rules: [{ name: a }]");
    assert_eq!(watched.replaced(5), 0);
    assert!(watched.reloader.refusal.is_some());
    assert_eq!(
        watched.reloader.debounce.next(FileStamps::at(&watched.reloader.watched)),
        PollAction::Rest
    );
    watched.write(&rules(3));
    assert_eq!(watched.replaced(5), 1);
    assert_eq!(watched.reloader.refusal, None);
}

#[test]
fn an_explicit_reload_is_immediate_and_not_repeated() {
    let mut watched = WatchedFile::new("explicit");
    watched.write(&rules(2));
    watched.reloader.reload();
    assert_eq!(watched.in_force().rules().len(), 2);
    assert_eq!(watched.replaced(5), 0);
}

#[test]
fn settings_need_a_restart() {
    let mut watched = WatchedFile::new("settings");
    watched.write(&(rules(1) + "store: { memory: { max: 8MiB } }\n"));
    watched.replaced(2);
    let changed: Vec<_> = watched.changed();
    assert_eq!(changed, ["store"]);
    let listen = "listen: { http: { address: 127.0.0.1:1, proxy_protocol: loopback } }\n";
    watched.write(&(rules(1) + listen));
    watched.replaced(2);
    let changed: Vec<_> = watched.changed();
    assert_eq!(changed, ["listen"]);
}

#[test]
fn lost_rules_stay_in_force() {
    for (index, lost) in ["", "# all gone\n", "rules:\n", "timezone: UTC\n"].iter().enumerate() {
        let mut watched = WatchedFile::new(&format!("lost-{index}"));
        watched.write(lost);
        assert_eq!(watched.replaced(5), 0, "{lost}");
        assert!(watched.reloader.refusal.is_some(), "{lost}");
        // An explicit reload does not confirm the loss either.
        watched.reloader.reload();
        assert_eq!(watched.in_force().rules().len(), 1, "{lost}");
        watched.write(&rules(2));
        assert_eq!(watched.replaced(5), 1, "{lost}");
        assert_eq!(watched.reloader.refusal, None, "{lost}");
    }
}

#[test]
fn an_explicit_empty_list_removes_rules() {
    let mut watched = WatchedFile::new("empty-list");
    watched.write("rules: []\n");
    assert_eq!(watched.replaced(5), 1);
    assert!(watched.in_force().rules().is_empty());
    // Without rules in force, none can be lost.
    watched.write("");
    assert_eq!(watched.replaced(5), 1);
    assert_eq!(watched.reloader.refusal, None);
}

#[test]
fn an_included_file_may_have_the_explicit_empty_list() {
    let mut watched = WatchedFile::new("empty-list-included");
    watched.write("include: [more.yaml]\n");
    fs::write(watched.folder.join("more.yaml"), "").unwrap();
    assert_eq!(watched.replaced(5), 0);
    fs::write(watched.folder.join("more.yaml"), "rules: []\n").unwrap();
    assert_eq!(watched.replaced(5), 1);
    assert!(watched.in_force().rules().is_empty());
}

#[test]
fn a_shared_store_and_its_secret_need_a_restart() {
    let mut watched = WatchedFile::new("shared");
    watched.write(&(rules(1) + "store: redis://127.0.0.1:1\n"));
    watched.replaced(2);
    assert_eq!(watched.changed(), ["store"]);
    let secret = "secret: 0123456789abcdef0123456789abcdef\n";
    watched.write(&(rules(1) + secret));
    watched.replaced(2);
    assert!(watched.changed().is_empty(), "the memory store does not use the secret");
    watched.reloader.started_with.redis =
        Some(sluicegate_rules::RedisSettings::at("redis://127.0.0.1:1".parse().unwrap()));
    assert_eq!(watched.changed(), ["store", "secret"]);
}

//! A follower that is made to look, without waiting.

use std::fs;

use sluicegate::{Limiter, Memory};
use sluicegate_rules::RuleFile;

use super::*;

/// A rule file and its follower; the file is removed with the test.
struct Followed {
    folder: PathBuf,
    follower: Follower<Memory>,
}

fn rules(count: usize) -> String {
    let rule =
        |number| format!("  - {{ name: rule-{number}, key: ip, limit: {}/h }}\n", number + 1);
    let rules: String = (0..count).map(rule).collect();
    format!("rules:\n{rules}")
}

impl Followed {
    fn new(test: &str) -> Self {
        let name = format!("sluicegate-follower-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("rules.yaml");
        fs::write(&path, rules(1)).unwrap();
        let mut reading = Reading::first(&path);
        let file: &mut RuleFile = reading.file.as_mut().unwrap();
        let gate =
            Arc::new(RuleLimiter::new(Limiter::in_memory(), file.rules.take().unwrap()).unwrap());
        let follower = Follower::new(gate, path, &reading, Reloads::new());
        Self { folder, follower }
    }

    fn write(&self, text: &str) {
        fs::write(&self.follower.path, text).unwrap();
    }

    fn in_force(&self) -> Arc<RuleSet> {
        Arc::clone(&self.follower.gate.rules())
    }

    /// The settings that wait for a restart.
    fn changed(&self) -> Vec<&'static str> {
        let secret = self.follower.gate.rules().store_secret();
        self.follower.changed(&self.follower.settings, secret).collect()
    }

    /// How often rules are put in force while it looks so often.
    fn replaced(&mut self, looks: usize) -> usize {
        // All are kept, so that no two of them are at the same place in memory.
        let mut seen = vec![self.in_force()];
        for _ in 0..looks {
            self.follower.look();
            let now = self.in_force();
            if seen.last().is_none_or(|last| !Arc::ptr_eq(last, &now)) {
                seen.push(now);
            }
        }
        seen.len() - 1
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_change_is_read_at_the_second_look_and_once() {
    let mut followed = Followed::new("once");
    assert_eq!(followed.replaced(3), 0);
    followed.write(&rules(2));
    assert_eq!(followed.replaced(1), 0);
    assert_eq!(followed.replaced(1), 1);
    assert_eq!(followed.replaced(5), 0);
    assert_eq!(followed.in_force().rules().len(), 2);
}

#[test]
fn a_file_that_is_being_written_is_left_alone() {
    let mut followed = Followed::new("written");
    for count in 2..6 {
        followed.write(&rules(count));
        assert_eq!(followed.replaced(1), 0);
    }
    assert_eq!(followed.replaced(1), 1);
    assert_eq!(followed.in_force().rules().len(), 5);
}

#[test]
fn mistakes_are_read_once_and_leave_the_rules_as_they_are() {
    let mut followed = Followed::new("mistaken");
    followed.write("rules: [{ name: a }]");
    assert_eq!(followed.replaced(5), 0);
    assert!(followed.follower.refusal.is_some());
    assert_eq!(followed.follower.watch.next(Look::at(&followed.follower.watched)), Next::Rest);
    followed.write(&rules(3));
    assert_eq!(followed.replaced(5), 1);
    assert_eq!(followed.follower.refusal, None);
}

#[test]
fn who_calls_is_heard_at_once_and_not_again_by_looking() {
    let mut followed = Followed::new("called");
    followed.write(&rules(2));
    followed.follower.reload();
    assert_eq!(followed.in_force().rules().len(), 2);
    assert_eq!(followed.replaced(5), 0);
}

#[test]
fn settings_wait_for_the_next_start() {
    let mut followed = Followed::new("settings");
    followed.write(&(rules(1) + "store: { memory: { max: 8MiB } }\n"));
    followed.replaced(2);
    let changed: Vec<_> = followed.changed();
    assert_eq!(changed, ["store"]);
    let listen = "listen: { http: { address: 127.0.0.1:1, proxy_protocol: loopback } }\n";
    followed.write(&(rules(1) + listen));
    followed.replaced(2);
    let changed: Vec<_> = followed.changed();
    assert_eq!(changed, ["listen"]);
}

#[test]
fn rules_that_are_gone_without_a_word_stay_in_force() {
    for (index, lost) in ["", "# all gone\n", "rules:\n", "timezone: UTC\n"].iter().enumerate() {
        let mut followed = Followed::new(&format!("lost-{index}"));
        followed.write(lost);
        assert_eq!(followed.replaced(5), 0, "{lost}");
        assert!(followed.follower.refusal.is_some(), "{lost}");
        // Who calls for it does not say that it is meant either.
        followed.follower.reload();
        assert_eq!(followed.in_force().rules().len(), 1, "{lost}");
        followed.write(&rules(2));
        assert_eq!(followed.replaced(5), 1, "{lost}");
        assert_eq!(followed.follower.refusal, None, "{lost}");
    }
}

#[test]
fn rules_are_taken_away_in_words() {
    let mut followed = Followed::new("words");
    followed.write("rules: []\n");
    assert_eq!(followed.replaced(5), 1);
    assert!(followed.in_force().rules().is_empty());
    // Where nothing is limited, nothing can get lost.
    followed.write("");
    assert_eq!(followed.replaced(5), 1);
    assert_eq!(followed.follower.refusal, None);
}

#[test]
fn any_of_the_files_may_say_that_there_are_no_rules() {
    let mut followed = Followed::new("words-elsewhere");
    followed.write("include: [more.yaml]\n");
    fs::write(followed.folder.join("more.yaml"), "").unwrap();
    assert_eq!(followed.replaced(5), 0);
    fs::write(followed.folder.join("more.yaml"), "rules: []\n").unwrap();
    assert_eq!(followed.replaced(5), 1);
    assert!(followed.in_force().rules().is_empty());
}

#[test]
fn a_shared_store_and_its_secret_wait_too() {
    let mut followed = Followed::new("shared");
    followed.write(&(rules(1) + "store: redis://127.0.0.1:1\n"));
    followed.replaced(2);
    assert_eq!(followed.changed(), ["store"]);
    let secret = "secret: 0123456789abcdef0123456789abcdef\n";
    followed.write(&(rules(1) + secret));
    followed.replaced(2);
    assert!(followed.changed().is_empty(), "the memory store does not go by it");
    followed.follower.started_with.redis =
        Some(sluicegate_rules::RedisSettings::at("redis://127.0.0.1:1".parse().unwrap()));
    assert_eq!(followed.changed(), ["store", "secret"]);
}

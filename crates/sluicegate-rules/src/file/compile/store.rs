//! `store`: the memory store and the shared store.

use std::path::{Path, PathBuf};

use sluicegate::{MemoryOptions, Span, StoreUrl};

use super::{Compiler, hidden_text};
use crate::file::load::Document;
use crate::file::settings::{MemorySettings, RedisSettings, SentinelAccess, Settings};
use sluicegate_yaml::Diagnostic;
use sluicegate_yaml::{MapEntry, Node, Scalar};

/// The longest prefix, in bytes.
const LONGEST_PREFIX: usize = 64;
/// The largest number of pages that the callers of a limit are spread over.
const MOST_PAGES: u32 = 1 << 20;
/// The largest number of nodes.
const MOST_NODES: u32 = 10_000;

impl Compiler<'_> {
    pub(super) fn store(&mut self, documents: &[Document], settings: &mut Settings) {
        let Some(store) = self.once(documents, "store") else { return };
        let folder = documents.first().and_then(|document| document.path.parent());
        if let Some(scalar) = store.scalar().filter(|scalar| !scalar.is_broken()) {
            if scalar.text() != "memory" {
                settings.redis = self.store_url(store).map(RedisSettings::at);
            }
            return;
        }
        let redis = store.get("redis").filter(|redis| !redis.is_null());
        settings.redis = redis.and_then(|redis| self.redis(redis, folder));
        if let Some(memory) = store.get("memory") {
            settings.memory = self.memory(memory, folder);
            for field in ["snapshot", "snapshot_every"] {
                if let Some(entry) = memory.entry(field).filter(|_| redis.is_some()) {
                    let message = format!("`{field}` is not available with a shared store");
                    self.error_at(entry.key.span, "no-snapshot", message)
                        .help("remove it: the shared store keeps the counters across restarts");
                }
            }
        }
    }

    fn memory(&mut self, memory: &Node, folder: Option<&Path>) -> MemorySettings {
        MemorySettings {
            max: memory.get("max").and_then(|node| self.memory_max(node)),
            snapshot: memory.get("snapshot").and_then(|node| path(node, folder)),
            snapshot_every: memory.get("snapshot_every").and_then(|node| self.snapshot_every(node)),
        }
    }

    fn redis(&mut self, node: &Node, folder: Option<&Path>) -> Option<RedisSettings> {
        if node.scalar().is_some() {
            return self.store_url(node).map(RedisSettings::at);
        }
        let url = node.get("url").and_then(|node| self.store_url(node));
        let password = node.get("password").and_then(|node| self.password(node));
        let in_url = |has_it: bool| node.entry("url").filter(|_| has_it);
        let password_in_url = in_url(url.as_ref().is_some_and(StoreUrl::has_password));
        let username_in_url = in_url(url.as_ref().is_some_and(StoreUrl::has_username));
        self.check_given_once(node, username_in_url, password_in_url);
        let settings = RedisSettings {
            username: node.get("username").and_then(Node::text).map(str::to_owned),
            password,
            password_file: node.get("password_file").and_then(|node| path(node, folder)),
            sentinel: self.sentinel(node, url.as_ref(), folder),
            ca_file: node.get("ca_file").and_then(|node| path(node, folder)),
            prefix: node.get("prefix").and_then(|node| self.key_prefix(node)),
            pages: node.get("pages").and_then(|node| {
                let good = |pages: u32| pages.is_power_of_two() && pages <= MOST_PAGES;
                self.amount(node, good, "a power of two from 1 to 1048576, as in `65536`")
            }),
            deadline: node.get("deadline").and_then(|node| self.deadline(node)),
            nodes: node.get("nodes").and_then(|node| {
                let good = |nodes: u32| (1..=MOST_NODES).contains(&nodes);
                self.amount(node, good, "1 to 10000")
            }),
            deny_cache: node.get("deny_cache").and_then(Node::text).map(|word| word == "on"),
            ..RedisSettings::at(url?)
        };
        Some(settings)
    }

    /// Reads the credentials for sentinels; without sentinels they are an error.
    fn sentinel(
        &mut self,
        store: &Node,
        url: Option<&StoreUrl>,
        folder: Option<&Path>,
    ) -> SentinelAccess {
        let Some(entry) = store.entry("sentinel") else { return SentinelAccess::NONE };
        if url.is_some_and(|url| !url.is_sentinel()) {
            let message = "these are credentials for sentinels, but the `url` names no sentinels";
            self.error_at(entry.key.span, "no-sentinels", message).help(
                "remove them, or name the sentinels, as in `url: redis+sentinel://a,b,c/mymaster`",
            );
        }
        let node = &entry.value;
        self.check_given_once(node, None, None);
        SentinelAccess {
            username: node.get("username").and_then(Node::text).map(str::to_owned),
            password: node.get("password").and_then(|node| self.password(node)),
            password_file: node.get("password_file").and_then(|node| path(node, folder)),
        }
    }

    fn store_url(&mut self, node: &Node) -> Option<StoreUrl> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let has_credentials = scalar.text().contains('@');
        if has_credentials {
            self.sources.mask(node.span);
        }
        match scalar.text().parse::<StoreUrl>() {
            Ok(url) => {
                if url.has_password() && !scalar.is_secret() {
                    self.password_in_file(node);
                }
                Some(url)
            }
            // The error repeats nothing of the URL but its scheme.
            Err(error) if !scalar.is_secret() => {
                self.error(node, "bad-store", error.to_string());
                None
            }
            Err(_) => {
                let message = hidden_text(scalar, "a store such as `redis://127.0.0.1:6379`");
                self.error(node, "bad-store", message);
                None
            }
        }
    }

    fn password(&mut self, node: &Node) -> Option<String> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        self.sources.mask(node.span);
        if !scalar.is_secret() {
            self.password_in_file(node);
        }
        Some(scalar.text().to_owned())
    }

    fn password_in_file(&mut self, node: &Node) {
        self.diagnostics.push(
            Diagnostic::warning(node.span, "secret-in-file", "the password is written in the file").help(
                "take it from the environment, as in `${REDIS_PASSWORD}`, or use `password_file`",
            ),
        );
    }

    /// Reports a user or a password that is given in several places.
    fn check_given_once(
        &mut self,
        node: &Node,
        username_in_url: Option<&MapEntry>,
        password_in_url: Option<&MapEntry>,
    ) {
        for (what, places) in [
            ("password", [password_in_url, node.entry("password"), node.entry("password_file")]),
            ("user", [username_in_url, node.entry("username"), None]),
        ] {
            let mut places = places.into_iter().flatten();
            let Some(first) = places.next() else { continue };
            for again in places {
                self.error_at(again.key.span, "given-twice", format!("the {what} is given twice"))
                    .related(first.key.span, "first given here")
                    .help("keep one of them");
            }
        }
    }

    fn key_prefix(&mut self, node: &Node) -> Option<String> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let wrong = |letter: char| {
            matches!(letter, '{' | '}') || letter.is_control() || letter.is_whitespace()
        };
        if scalar.text().len() > LONGEST_PREFIX || scalar.text().contains(wrong) {
            let message = format!("`{}` is not a valid prefix of keys", scalar.shown());
            self.error(node, "bad-prefix", message).help(
                "use at most 64 bytes without spaces, braces or control characters, as in `shop:`",
            );
            return None;
        }
        Some(scalar.text().to_owned())
    }

    fn deadline(&mut self, node: &Node) -> Option<Span> {
        let deadline = self.length(node)?;
        if deadline < Span::from_millis(1) || deadline > Span::from_secs(1) {
            let message = "the deadline of the store is out of range";
            self.error(node, "bad-length", message).help("use `1ms` to `1s`, as in `10ms`");
            return None;
        }
        Some(deadline)
    }

    fn amount(&mut self, node: &Node, good: impl Fn(u32) -> bool, right: &str) -> Option<u32> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        // The validation has already reported values that are not numbers.
        let whole = scalar.whole()?;
        let amount = u32::try_from(whole).ok().filter(|amount| good(*amount));
        if amount.is_none() {
            let message = format!("`{}` is not valid here", Scalar::shown(scalar));
            self.error(node, "bad-amount", message).help(format!("use {right}"));
        }
        amount
    }

    /// Reads the memory limit, with the minimum that a store needs.
    fn memory_max(&mut self, node: &Node) -> Option<u64> {
        let bytes = self.bytes(node)?;
        if usize::try_from(bytes).is_ok_and(|bytes| bytes < MemoryOptions::MIN_BYTES) {
            self.error(node, "bad-amount", "this is too little memory for counters")
                .help("use at least `1MiB`");
            return None;
        }
        Some(bytes)
    }

    /// Reads the snapshot interval, with a minimum of one second.
    fn snapshot_every(&mut self, node: &Node) -> Option<Span> {
        let every = self.length(node)?;
        if every < Span::from_secs(1) {
            self.error(node, "bad-length", "the snapshot interval is too short")
                .help("use at least `1s`");
            return None;
        }
        Some(every)
    }
}

/// Returns a path relative to the folder of the file.
fn path(node: &Node, folder: Option<&Path>) -> Option<PathBuf> {
    let path = node.text()?;
    Some(folder.map_or_else(|| PathBuf::from(path), |folder| folder.join(path)))
}

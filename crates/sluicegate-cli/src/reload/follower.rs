//! What is done when a rule file has changed.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use sluicegate::Store;
use sluicegate_rules::{Report, RuleLimiter, RuleSet, Settings, Severity, Unreadable};
use sluicegate_server::Reloads;
use tracing::{debug, error, info, warn};

use super::look::Look;
use super::reading::Reading;
use super::watch::{Next, Watch};
use crate::counted::counted;

/// Keeps the rules in force as they are in their file.
#[derive(Debug)]
pub(crate) struct Follower<S> {
    gate: Arc<RuleLimiter<S>>,
    path: PathBuf,
    /// All that belongs to the file.
    watched: Vec<PathBuf>,
    watch: Watch<Look>,
    /// What the program goes by until it ends …
    started_with: Settings,
    /// … and what the file says now.
    settings: Settings,
    /// What callers are known under in a store that nodes share, until the program ends.
    secret: [u8; 32],
    /// … and what they would be known under by the file as it is now.
    told_secret: [u8; 32],
    reloads: Reloads,
    /// What was last said about a file that cannot be used.
    refusal: Option<String>,
}

impl<S: Store> Follower<S> {
    /// Follows the file that the rules of `gate` were read from.
    pub(crate) fn new(
        gate: Arc<RuleLimiter<S>>,
        path: PathBuf,
        reading: &Reading,
        reloads: Reloads,
    ) -> Self {
        let settings = reading.file.as_ref().map(|file| file.settings.clone()).unwrap_or_default();
        let secret = gate.rules().store_secret();
        Self {
            gate,
            path,
            watched: reading.watched.clone(),
            watch: Watch::new(reading.look.clone()),
            started_with: settings.clone(),
            settings,
            secret,
            told_secret: secret,
            reloads,
            refusal: None,
        }
    }

    /// Looks at the files, and reads them if they have changed and stand still.
    pub(super) fn look(&mut self) {
        if self.watch.next(Look::at(&self.watched)) == Next::Read {
            self.read();
        }
    }

    /// Reads the files, whatever they look like, and says what became of it.
    pub(super) fn reload(&mut self) {
        self.refusal = None;
        self.read();
    }

    fn read(&mut self) {
        let Reading { file, watched, look } = Reading::again(&self.path, &self.watched);
        self.watched = watched;
        self.watch.has_read(look);
        match file {
            Err(unreadable) => self.refuse(&Refused::Unreadable(&unreadable)),
            Ok(file) => match file.rules {
                None => self.refuse(&Refused::Mistaken(&file.report)),
                Some(rules) if self.lost(&rules, file.none_in_words) => {
                    self.refuse(&Refused::Emptied(&file.report));
                }
                Some(rules) => self.replace(rules, file.settings, &file.report),
            },
        }
    }

    /// Whether the rules are gone without a word: a file that was cut off or a folder that was
    /// emptied reads like that, and would switch every limit off.
    fn lost(&self, rules: &RuleSet, none_in_words: bool) -> bool {
        rules.rules().is_empty() && !none_in_words && !self.gate.rules().rules().is_empty()
    }

    fn replace(&mut self, rules: RuleSet, settings: Settings, report: &Report) {
        let count = rules.rules().len();
        let secret = rules.store_secret();
        self.gate.replace(rules);
        self.reloads.loaded(count);
        self.refusal = None;
        info!("rules reloaded: {} from {}", counted(count, "rule"), self.path.display());
        log(report);
        let pending: Vec<_> = self.changed(&settings, secret).collect();
        self.reloads.pending(pending.len());
        if settings != self.settings || self.told_secret != secret {
            for changed in pending {
                let path = self.path.display();
                warn!("`{changed}` has changed in {path}; it takes effect at the next start");
            }
        }
        (self.settings, self.told_secret) = (settings, secret);
    }

    /// What is other than what the program was started with.
    fn changed(&self, settings: &Settings, secret: [u8; 32]) -> impl Iterator<Item = &'static str> {
        let before = &self.started_with;
        let listeners = |settings: &Settings| (settings.http, settings.grpc, settings.resp);
        let listen = listeners(settings) != listeners(before)
            || settings.proxy_protocol != before.proxy_protocol;
        let store = settings.memory != before.memory || settings.redis != before.redis;
        // Only a shared store goes by it for longer than the rules do.
        let secret = before.redis.is_some() && secret != self.secret;
        let changed = [("store", store), ("listen", listen), ("secret", secret)];
        changed.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name)
    }

    fn refuse(&mut self, refused: &Refused<'_>) {
        self.reloads.refused();
        let kept = self.gate.rules().rules().len();
        let stay = if kept == 1 { "stays" } else { "stay" };
        let (why, said) = match refused {
            Refused::Unreadable(unreadable) => {
                let (path, reason) = (unreadable.path().display(), unreadable.reason());
                let why = format!("cannot read {path}: {reason}");
                (why.clone(), why)
            }
            Refused::Mistaken(report) => {
                let errors = counted(report.errors(), "error");
                (format!("{errors} in {}", self.path.display()), report.render(false))
            }
            Refused::Emptied(report) => {
                let why = format!("there are no rules in {} any more", self.path.display());
                (why, report.render(false))
            }
        };
        let kept = counted(kept, "rule");
        let mut summary =
            format!("rules not reloaded: {why}; the {kept} from before {stay} in force");
        if let Refused::Emptied(_) = refused {
            summary.push_str("; if nothing is to be limited, say so with `rules: []`");
        }
        if self.refusal.as_ref() == Some(&said) {
            debug!("{summary}");
            return;
        }
        self.refusal = Some(said);
        error!("{summary}");
        match refused {
            Refused::Unreadable(_) => {}
            Refused::Mistaken(report) => log(report),
            // Here it is not true that nothing is limited.
            Refused::Emptied(report) => log_without(report, "no-rules"),
        }
    }
}

/// Why the rules stay as they are.
enum Refused<'r> {
    Unreadable(&'r Unreadable),
    Mistaken(&'r Report),
    /// There were rules, now there are none, and no file says that this is meant.
    Emptied(&'r Report),
}

/// Each finding with the lines it is about.
fn log(report: &Report) {
    log_without(report, "");
}

/// The same without those of one code.
fn log_without(report: &Report, code: &str) {
    let rendered = report.findings().iter().zip(report.rendered(false));
    for (_, (severity, finding)) in rendered.filter(|(finding, _)| finding.code() != code) {
        match severity {
            Severity::Error => error!("{finding}"),
            Severity::Warning => warn!("{finding}"),
            Severity::Note => info!("{finding}"),
        }
    }
}

//! Replacement of the rules after a change of their file.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use sluicegate::Store;
use sluicegate_rules::{Report, RuleLimiter, RuleSet, Settings, Severity, UnreadableFile};
use sluicegate_server::Reloads;
use tracing::{debug, error, info, warn};

use super::consistent_load::LoadedRules;
use super::debounce::{Debounce, PollAction};
use super::file_stamps::FileStamps;
use crate::plural::counted;

/// Keeps the rules of a limiter equal to those in their file.
#[derive(Debug)]
pub(crate) struct RuleReloader<S> {
    limiter: Arc<RuleLimiter<S>>,
    path: PathBuf,
    /// The file, its includes and their folders.
    watched: Vec<PathBuf>,
    debounce: Debounce<FileStamps>,
    /// The settings that the program was started with, and uses until it ends.
    started_with: Settings,
    /// The settings in the file now.
    settings: Settings,
    /// The secret that the program was started with. A shared store uses it until the end.
    secret: [u8; 32],
    /// The secret in the file now.
    file_secret: [u8; 32],
    reloads: Reloads,
    /// The last logged reason for a file that cannot be used.
    refusal: Option<String>,
}

impl<S: Store> RuleReloader<S> {
    /// Creates a reloader for the file that the rules of `limiter` were read from.
    pub(crate) fn new(
        limiter: Arc<RuleLimiter<S>>,
        path: PathBuf,
        reading: &LoadedRules,
        reloads: Reloads,
    ) -> Self {
        let settings = reading.file.as_ref().map(|file| file.settings.clone()).unwrap_or_default();
        let secret = limiter.rules().store_secret();
        Self {
            limiter,
            path,
            watched: reading.watched.clone(),
            debounce: Debounce::new(reading.stamps.clone()),
            started_with: settings.clone(),
            settings,
            secret,
            file_secret: secret,
            reloads,
            refusal: None,
        }
    }

    /// Reads the files if they have changed and are the same as at the previous poll.
    pub(super) fn poll(&mut self) {
        if self.debounce.next(FileStamps::at(&self.watched)) == PollAction::Read {
            self.read();
        }
    }

    /// Reads the files even if they have not changed, and logs the result.
    pub(super) fn reload(&mut self) {
        self.refusal = None;
        self.read();
    }

    fn read(&mut self) {
        let LoadedRules { file, watched, stamps } = LoadedRules::again(&self.path, &self.watched);
        self.watched = watched;
        self.debounce.has_read(stamps);
        match file {
            Err(unreadable) => self.refuse(&Refused::Unreadable(&unreadable)),
            Ok(file) => match file.rules {
                None => self.refuse(&Refused::Invalid(&file.report)),
                Some(rules) if self.are_lost(&rules, file.none_in_words) => {
                    self.refuse(&Refused::Emptied(&file.report));
                }
                Some(rules) => self.replace(rules, file.settings, &file.report),
            },
        }
    }

    /// Whether all rules are gone without an explicit `rules: []`.
    ///
    /// A truncated file or an emptied folder reads like that, and would switch off every limit.
    fn are_lost(&self, rules: &RuleSet, none_in_words: bool) -> bool {
        rules.rules().is_empty() && !none_in_words && !self.limiter.rules().rules().is_empty()
    }

    fn replace(&mut self, rules: RuleSet, settings: Settings, report: &Report) {
        let count = rules.rules().len();
        let secret = rules.store_secret();
        self.limiter.replace(rules);
        self.reloads.loaded(count);
        self.refusal = None;
        info!("rules reloaded: {} from {}", counted(count, "rule"), self.path.display());
        log(report);
        let pending: Vec<_> = self.changed(&settings, secret).collect();
        self.reloads.pending(pending.len());
        if settings != self.settings || self.file_secret != secret {
            for changed in pending {
                let path = self.path.display();
                warn!("`{changed}` has changed in {path}; it takes effect at the next start");
            }
        }
        (self.settings, self.file_secret) = (settings, secret);
    }

    /// The fields that differ from those that the program was started with.
    fn changed(&self, settings: &Settings, secret: [u8; 32]) -> impl Iterator<Item = &'static str> {
        let before = &self.started_with;
        let listeners = |settings: &Settings| (settings.http, settings.grpc, settings.resp);
        let listen = listeners(settings) != listeners(before)
            || settings.proxy_protocol != before.proxy_protocol;
        let store = settings.memory != before.memory || settings.redis != before.redis;
        // The secret is fixed only for a shared store; the rules use the new one at once.
        let secret = before.redis.is_some() && secret != self.secret;
        let changed = [("store", store), ("listen", listen), ("secret", secret)];
        changed.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name)
    }

    fn refuse(&mut self, refused: &Refused<'_>) {
        self.reloads.refused();
        let kept = self.limiter.rules().rules().len();
        let stay = if kept == 1 { "stays" } else { "stay" };
        let (why, details) = match refused {
            Refused::Unreadable(unreadable) => {
                let (path, reason) = (unreadable.path().display(), unreadable.reason());
                let why = format!("cannot read {path}: {reason}");
                (why.clone(), why)
            }
            Refused::Invalid(report) => {
                let errors = counted(report.errors(), "error");
                (format!("{errors} in {}", self.path.display()), report.render(false))
            }
            Refused::Emptied(report) => {
                let why = format!("there are no more rules in {}", self.path.display());
                (why, report.render(false))
            }
        };
        let kept = counted(kept, "rule");
        let mut summary = format!("rules not reloaded: {why}; the previous {kept} {stay} in force");
        if let Refused::Emptied(_) = refused {
            summary.push_str("; to remove all limits, write `rules: []`");
        }
        if self.refusal.as_ref() == Some(&details) {
            debug!("{summary}");
            return;
        }
        self.refusal = Some(details);
        error!("{summary}");
        match refused {
            Refused::Unreadable(_) => {}
            Refused::Invalid(report) => log(report),
            // Without the note that nothing is limited, because the previous rules still apply.
            Refused::Emptied(report) => log_without(report, "no-rules"),
        }
    }
}

/// The reason why the rules are not replaced.
enum Refused<'r> {
    Unreadable(&'r UnreadableFile),
    Invalid(&'r Report),
    /// All rules are gone, without an explicit `rules: []`.
    Emptied(&'r Report),
}

/// Logs each finding with its lines of the file.
fn log(report: &Report) {
    log_without(report, "");
}

/// Logs each finding except those with one code.
fn log_without(report: &Report, code: &str) {
    let rendered = report.diagnostics().iter().zip(report.rendered(false));
    for (_, (severity, diagnostic)) in rendered.filter(|(diagnostic, _)| diagnostic.code() != code)
    {
        match severity {
            Severity::Error => error!("{diagnostic}"),
            Severity::Warning => warn!("{diagnostic}"),
            Severity::Note => info!("{diagnostic}"),
        }
    }
}

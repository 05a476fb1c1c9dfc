//! The trace file of all decisions of a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow};
use sluicegate::{Limiter, Store};
use sluicegate_audit::{
    Recorder, RecordingStore, TraceHeader, TraceWriter, WriteFailure, WriteReport,
};
use sluicegate_rules::RuleSet;
use sluicegate_server::{Addresses, Protocol};
use tracing::{debug, error, warn};

use super::ServeSettings;
use crate::output::print_status;
use crate::plural::counted;

/// A trace that is being written.
pub(super) struct TraceTask {
    trace: TraceWriter,
    path: PathBuf,
    node: String,
    is_shared: bool,
}

impl TraceTask {
    /// Creates the trace file, if --trace is set.
    ///
    /// Called after binding, so that a failed start leaves the trace of a running server untouched.
    pub(super) fn start(settings: &ServeSettings, addresses: &Addresses) -> Result<Option<Self>> {
        let Some(path) = &settings.trace else { return Ok(None) };
        let node = match &settings.node {
            Some(node) => node.clone(),
            None => default_name(addresses),
        };
        let is_shared = settings.redis.is_some();
        let header = TraceHeader {
            nodes: settings.redis.as_ref().and_then(|redis| redis.nodes),
            // The trace does not contain the earlier counts of a shared store or a snapshot.
            fresh: (is_shared || settings.snapshot.is_some()).then_some(false),
            ..TraceHeader::default()
        };
        let has_warned = AtomicBool::new(false);
        let log = move |failure: &WriteFailure| match failure {
            // One warning is enough, because the last line counts the missing decisions.
            WriteFailure::Gap { .. } if has_warned.swap(true, Ordering::Relaxed) => {
                debug!("{failure}");
            }
            WriteFailure::Gap { .. } => {
                warn!("{failure}; the trace records the gap, and an audit allows for it");
            }
            _ => error!("{failure}"),
        };
        let trace = TraceWriter::create_watched(path, &header, log)
            .map_err(|error| cannot_write(path, &error))?;
        Ok(Some(Self { trace, path: path.clone(), node, is_shared }))
    }

    /// A limiter that decides like this one, on the same store, and records each decision.
    pub(super) fn around<S: Store>(
        &self,
        limiter: Limiter<S>,
        rules: &RuleSet,
    ) -> Limiter<RecordingStore<S>> {
        let recorder = Recorder::new(self.trace.clone(), &*self.node, rules.store_secret());
        let recorder = if self.is_shared { recorder.sharing() } else { recorder };
        Limiter::new(RecordingStore::new(limiter, recorder))
    }

    /// Writes the end of the trace, and prints the number of its decisions.
    pub(super) fn finish(self) -> Result<()> {
        let path = self.path.display();
        let WriteReport { entries, lost } =
            self.trace.finish().with_context(|| format!("the trace {path} is incomplete"))?;
        let missing = match lost {
            0 => String::new(),
            1 => "; 1 more is missing".to_owned(),
            lost => format!("; {lost} more are missing"),
        };
        print_status(&format!(
            "sluicegate: {} in the trace {path}{missing}\n",
            counted(entries, "decision")
        ));
        Ok(())
    }
}

/// The default name of this node: its host and port.
fn default_name(addresses: &Addresses) -> String {
    let address = Protocol::ALL.into_iter().find_map(|protocol| addresses.of(protocol));
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match (host.trim(), address) {
        ("", Some(address)) => address.to_string(),
        (host, Some(address)) => format!("{host}:{}", address.port()),
        (host, None) => host.to_owned(),
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let path = path.display();
    anyhow!(
        "cannot write the trace {path}: {error}\n\
         hint: give --trace a file in an existing, writable folder"
    )
}

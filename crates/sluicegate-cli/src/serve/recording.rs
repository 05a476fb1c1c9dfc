//! The trace that every decision is written to, from the first to the last.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow};
use sluicegate::{Limiter, Store};
use sluicegate_audit::{Header, Recorded, Recorder, Trace, Traced, Trouble};
use sluicegate_rules::RuleSet;
use sluicegate_server::{Addresses, Protocol};
use tracing::{debug, error, warn};

use super::Settings;
use crate::counted::counted;
use crate::output::say;

/// A trace that is being written.
pub(super) struct Recording {
    trace: Trace,
    path: PathBuf,
    node: String,
    is_shared: bool,
}

impl Recording {
    /// Begins the trace that was asked for, if one was. Only who listens already does: who can not
    /// start does not touch what another one writes.
    pub(super) fn start(settings: &Settings, addresses: &Addresses) -> Result<Option<Self>> {
        let Some(path) = &settings.trace else { return Ok(None) };
        let node = match &settings.node {
            Some(node) => node.clone(),
            None => own_name(addresses),
        };
        let is_shared = settings.redis.is_some();
        let header = Header {
            nodes: settings.redis.as_ref().and_then(|redis| redis.nodes),
            // What a shared store or a snapshot has counted before, no trace tells.
            fresh: (is_shared || settings.snapshot.is_some()).then_some(false),
            ..Header::default()
        };
        let told = AtomicBool::new(false);
        let log = move |trouble: &Trouble| match trouble {
            // Once is enough while it runs; the end says how many there were.
            Trouble::Gap { .. } if told.swap(true, Ordering::Relaxed) => debug!("{trouble}"),
            Trouble::Gap { .. } => {
                warn!("{trouble}; the trace says where, and an audit takes it into account");
            }
            _ => error!("{trouble}"),
        };
        let trace =
            Trace::create_watched(path, &header, log).map_err(|error| unwritable(path, &error))?;
        Ok(Some(Self { trace, path: path.clone(), node, is_shared }))
    }

    /// A limiter that decides as this one does, on the same store, and has it written down.
    pub(super) fn around<S: Store>(
        &self,
        limiter: Limiter<S>,
        rules: &RuleSet,
    ) -> Limiter<Traced<S>> {
        let recorder = Recorder::new(self.trace.clone(), &*self.node, rules.store_secret());
        let recorder = if self.is_shared { recorder.sharing() } else { recorder };
        Limiter::new(Traced::new(limiter, recorder))
    }

    /// Writes its end, and says how much there is in it.
    pub(super) fn finish(self) -> Result<()> {
        let path = self.path.display();
        let Recorded { entries, lost } =
            self.trace.finish().with_context(|| format!("the trace {path} is not whole"))?;
        let missing = match lost {
            0 => String::new(),
            1 => "; 1 more is missing".to_owned(),
            lost => format!("; {lost} more are missing"),
        };
        say(&format!(
            "sluicegate: {} in the trace {path}{missing}\n",
            counted(entries, "decision")
        ));
        Ok(())
    }
}

/// What tells this node from others if nobody has named it.
fn own_name(addresses: &Addresses) -> String {
    let address = Protocol::ALL.into_iter().find_map(|protocol| addresses.of(protocol));
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match (host.trim(), address) {
        ("", Some(address)) => address.to_string(),
        (host, Some(address)) => format!("{host}:{}", address.port()),
        (host, None) => host.to_owned(),
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let path = path.display();
    anyhow!(
        "cannot write the trace {path}: {error}\n\
         hint: give --trace a file in a folder that is there and may be written to"
    )
}

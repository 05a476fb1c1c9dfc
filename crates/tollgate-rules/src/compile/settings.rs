//! `store` and `listen`: the program itself.

use tollgate::{MemoryOptions, Span};

use super::{Compiler, said};
use crate::address::networks::Entry;
use crate::load::Document;
use crate::node::Node;
use crate::settings::{Listen, MemorySettings, Settings};

impl Compiler<'_> {
    pub(super) fn settings(&mut self, documents: &[Document]) -> Settings {
        let mut settings = Settings::default();
        if let Some(memory) = self.once(documents, "store").and_then(|store| store.get("memory")) {
            let folder = documents.first().and_then(|document| document.path.parent());
            settings.memory = MemorySettings {
                max: memory.get("max").and_then(|node| self.memory_max(node)),
                snapshot: memory.get("snapshot").and_then(Node::text).map(|path| match folder {
                    Some(folder) => folder.join(path),
                    None => path.into(),
                }),
                snapshot_every: memory
                    .get("snapshot_every")
                    .and_then(|node| self.snapshot_every(node)),
            };
        }
        if let Some(http) = self.once(documents, "listen").and_then(|listen| listen.get("http")) {
            let address = http.get("address").unwrap_or(http);
            settings.http = self.listen(address);
            let proxies = http.get("proxy_protocol").map(Node::items).unwrap_or_default();
            for item in proxies {
                let Some(scalar) = item.scalar().filter(|scalar| !scalar.is_broken()) else {
                    continue;
                };
                match scalar.text().parse::<Entry>() {
                    Ok(_) => settings.proxy_protocol.push(scalar.text().to_owned()),
                    Err(error) => {
                        _ = self.error(
                            item,
                            "bad-network",
                            said(scalar, &error, "a network or address"),
                        );
                    }
                }
            }
        }
        settings
    }

    /// As much memory as a store needs at least.
    fn memory_max(&mut self, node: &Node) -> Option<u64> {
        let bytes = self.bytes(node)?;
        if usize::try_from(bytes).is_ok_and(|bytes| bytes < MemoryOptions::MIN_BYTES) {
            self.error(node, "bad-amount", "this is too little to keep counters in")
                .help("use at least `1MiB`");
            return None;
        }
        Some(bytes)
    }

    /// Not more often than snapshots are worth their while.
    fn snapshot_every(&mut self, node: &Node) -> Option<Span> {
        let every = self.length(node)?;
        if every < Span::from_secs(1) {
            self.error(node, "bad-length", "snapshots cannot be taken so often")
                .help("use at least `1s`");
            return None;
        }
        Some(every)
    }

    fn listen(&mut self, node: &Node) -> Option<Listen> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        if scalar.text() == "off" {
            return Some(Listen::Off);
        }
        if let Ok(address) = scalar.text().parse() {
            Some(Listen::At(address))
        } else {
            let message = format!("`{}` is not an address with a port", scalar.shown());
            self.error(node, "bad-address", message)
                .help("use one as in `127.0.0.1:7070`, `[::1]:7070` or `0.0.0.0:7070`, or `off`");
            None
        }
    }
}

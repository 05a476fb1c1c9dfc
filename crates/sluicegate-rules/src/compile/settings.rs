//! What the file says about the program itself: `store`, and `listen`.

use super::{Compiler, said};
use crate::address::networks::Entry;
use crate::load::Document;
use crate::node::Node;
use crate::settings::{Listen, Settings};

impl Compiler<'_> {
    pub(super) fn settings(&mut self, documents: &[Document]) -> Settings {
        let mut settings = Settings::default();
        self.store(documents, &mut settings);
        let Some(listen) = self.once(documents, "listen") else { return settings };
        settings.grpc = listen.get("grpc").and_then(|address| self.listen(address));
        settings.resp = listen.get("resp").and_then(|address| self.listen(address));
        if let Some(http) = listen.get("http") {
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

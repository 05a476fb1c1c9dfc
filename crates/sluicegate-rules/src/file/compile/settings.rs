//! `store` and `listen`: the settings of the program.

use super::{Compiler, error_text, hidden_text};
use crate::file::load::Document;
use crate::file::settings::{Listen, Settings};
use crate::request::address::networks::NetworkEntry;
use sluicegate_yaml::Node;

impl Compiler<'_> {
    pub(super) fn settings(&mut self, documents: &[Document]) -> Settings {
        let mut settings = Settings::default();
        self.store(documents, &mut settings);
        let Some(listen) = self.once(documents, "listen") else { return settings };
        settings.grpc =
            listen.get("grpc").and_then(|address| self.listen(address, Listen::GRPC_PORT));
        settings.resp =
            listen.get("resp").and_then(|address| self.listen(address, Listen::RESP_PORT));
        if let Some(http) = listen.get("http") {
            let address = http.get("address").unwrap_or(http);
            settings.http = self.listen(address, Listen::HTTP_PORT);
            let proxies = http.get("proxy_protocol").map(Node::items).unwrap_or_default();
            for item in proxies {
                let Some(scalar) = item.scalar().filter(|scalar| !scalar.is_broken()) else {
                    continue;
                };
                match scalar.text().parse::<NetworkEntry>() {
                    Ok(_) => settings.proxy_protocol.push(scalar.text().to_owned()),
                    Err(error) => {
                        _ = self.error(
                            item,
                            "bad-network",
                            error_text(scalar, &error, "a network or address"),
                        );
                    }
                }
            }
        }
        settings
    }

    fn listen(&mut self, node: &Node, default_port: u16) -> Option<Listen> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        match Listen::parse(scalar.text(), default_port) {
            Ok(listen) => Some(listen),
            // The fix repeats parts of the value, which a variable may not be.
            Err(_) if scalar.is_secret() => {
                let message = hidden_text(scalar, "an IP address with a port");
                self.error(node, "bad-address", message)
                    .help(format!("use one as in `127.0.0.1:{default_port}`, or `off`"));
                None
            }
            Err(fix) => {
                let message = format!("`{}` is not an IP address with a port", scalar.shown());
                self.error(node, "bad-address", message).help(fix);
                None
            }
        }
    }
}

//! The proxy configurations in `docs/http.md`, on free ports.

use std::fs;

use sluicegate_testkit::free_port;

use super::envoy;
use super::program::{Folder, Serving, sluicegate};
use super::proxies::Proxy;
use super::proxy_setup::{Edge, service, substituted};

const FILES: &str = "client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; \
                     scgi_temp_path scgi; uwsgi_temp_path uwsgi;";
const CONNECTION_MANAGER: &str = "type.googleapis.com/envoy.extensions.filters.network.\
                                  http_connection_manager.v3.HttpConnectionManager";
const ROUTER: &str = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";

/// The only block of this kind in the page that contains this text.
fn block(kind: &str, text: &str) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/http.md");
    let page = fs::read_to_string(page).unwrap();
    let fence = format!("```{kind}\n");
    let blocks = page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap());
    let blocks: Vec<&str> = blocks.filter(|block| block.contains(text)).collect();
    assert_eq!(blocks.len(), 1, "{kind} with {text}");
    blocks[0].to_owned()
}

fn start_sluicegate() -> Serving {
    let rules = Proxy::Caddy.example("rules.yaml");
    Serving::start(sluicegate(&["serve", "--http", "127.0.0.1:0", "--config", &rules]))
}

pub(super) fn caddy() -> Edge {
    let (serving, service, folder, port) =
        (start_sluicegate(), service(), Folder::new(), free_port());
    let own = [("127.0.0.1:7070", serving.address.clone())];
    let block = substituted(block("caddyfile", "forward_auth"), &own);
    let behind = service.port;
    let config = format!(
        "{{\nadmin off\n}}\nhttp://:{port} {{\n{block}\nreverse_proxy 127.0.0.1:{behind}\n}}\n"
    );
    Edge::start(&mut Proxy::Caddy.command(&folder, &config), port, serving, service, folder)
}

pub(super) fn nginx() -> Edge {
    let (serving, service, folder, port) =
        (start_sluicegate(), service(), Folder::new(), free_port());
    let own = [
        ("127.0.0.1:7070", serving.address.clone()),
        ("127.0.0.1:8080", format!("127.0.0.1:{}", service.port)),
    ];
    let block = substituted(block("nginx", "auth_request"), &own);
    let config = format!(
        "pid nginx.pid; error_log stderr; daemon off; events {{}}\n\
         http {{ access_log off; {FILES} server {{ listen 127.0.0.1:{port};\n{block} }} }}\n"
    );
    Edge::start(&mut Proxy::Nginx.command(&folder, &config), port, serving, service, folder)
}

pub(super) fn envoy() -> Edge {
    let (serving, service, folder, port) =
        (start_sluicegate(), service(), Folder::new(), free_port());
    let own = [
        ("127.0.0.1:7070", serving.address.clone()),
        // Long enough that a busy test machine is not an outage.
        ("timeout: 0.05s", "timeout: 30s".to_owned()),
    ];
    let filter = substituted(block("yaml", "ext_authz"), &own);
    let filter = filter.replace('\n', "\n            ");
    let (_, http_port) = serving.address.rsplit_once(':').unwrap();
    let cluster = |name: &str, port: &str| {
        let address = format!("{{ address: 127.0.0.1, port_value: {port} }}");
        let endpoint = format!("{{ endpoint: {{ address: {{ socket_address: {address} }} }} }}");
        let endpoints = format!("[{{ lb_endpoints: [{endpoint}] }}]");
        let members = format!("{{ cluster_name: {name}, endpoints: {endpoints} }}");
        format!("  - {{ name: {name}, connect_timeout: 5s, load_assignment: {members} }}\n")
    };
    let clusters =
        cluster("sluicegate", http_port) + &cluster("service", &service.port.to_string());
    let config = format!(
        r#"static_resources:
  listeners:
  - address: {{ socket_address: {{ address: 127.0.0.1, port_value: {port} }} }}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": {CONNECTION_MANAGER}
          stat_prefix: edge
          use_remote_address: true
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes: [{{ match: {{ prefix: / }}, route: {{ cluster: service }} }}]
          http_filters:
          -
            {filter}
          - {{ name: envoy.filters.http.router, typed_config: {{ "@type": {ROUTER} }} }}
  clusters:
{clusters}"#
    );
    Edge::start(&mut envoy::command(&folder, &config), port, serving, service, folder)
}

//! Tests that clients with the authority's certificate can use TLS.

use std::sync::Once;

use redis::{Client, TlsCertificates};
use sluicegate_testkit::{FaultProxy, Server, ServerKind};

fn client(server: &Server, port: u16, authority: Option<&str>) -> Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        rustls::crypto::aws_lc_rs::default_provider().install_default().unwrap();
    });
    let url = server.tls_url().replace(&server.tls_port().to_string(), &port.to_string());
    let root_cert = authority.map(|pem| pem.as_bytes().to_vec());
    Client::build_with_tls(url, TlsCertificates { client_tls: None, root_cert }).unwrap()
}

fn ping(client: &Client) -> redis::RedisResult<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = client.get_multiplexed_async_connection().await?;
        redis::cmd("PING").query_async(&mut connection).await
    })
}

#[test]
fn connects_with_the_authority_and_not_without() {
    let server = Server::setup(ServerKind::Redis).tls().password("secret1").start();
    let other = Server::setup(ServerKind::Redis).tls().start();
    let port = server.tls_port();
    assert_eq!(ping(&client(&server, port, Some(server.ca_pem()))).unwrap(), "PONG");
    assert!(ping(&client(&server, port, None)).is_err());
    assert!(ping(&client(&server, port, Some(other.ca_pem()))).is_err());
    // Not on the port without it.
    assert!(ping(&client(&server, server.port(), Some(server.ca_pem()))).is_err());
}

#[test]
fn goes_through_a_proxy_that_cannot_read_it() {
    let server = Server::setup(ServerKind::Redis).tls().start();
    let proxy = FaultProxy::to(([127, 0, 0, 1], server.tls_port()).into());
    let client = client(&server, proxy.port(), Some(server.ca_pem()));
    assert_eq!(ping(&client).unwrap(), "PONG");
    proxy.drop_replies(1.0, 1);
    assert!(ping(&client).is_err());
}

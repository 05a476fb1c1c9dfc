//! Tests of pages, unknown paths and methods.

use super::test_server::TestServer;

#[tokio::test]
async fn the_front_page_lists_the_endpoints_and_a_working_example() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let page = client.get("/").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/plain; charset=utf-8"));
    for path in [
        "/v1/check",
        "/v1/check/batch",
        "/v1/settle",
        "/v1/release",
        "/v1/renew",
        "/v1/report",
        "/v1/authorize",
        "/openapi.json",
        "/v1/throttle",
        "/v1/throttle/batch",
        "/healthz",
        "/readyz",
        "/metrics",
        "curl -i http://sluicegate/v1/throttle -d ",
    ] {
        assert!(page.text().contains(path), "{path}");
    }
    let (_, line) = page.text().split_once("-d '").unwrap();
    let (body, _) = line.split_once('\'').unwrap();
    assert_eq!(client.throttle(body).await.status, 200, "the example works");

    client.send("GET / HTTP/1.1\r\nHost: $(reboot)\r\n\r\n").await;
    assert!(client.reply().await.text().contains("curl -i http://127.0.0.1:7070/"));
}

#[tokio::test]
async fn health_is_ok() {
    let gate = TestServer::open().await;
    let reply = gate.client().await.get("/healthz").await;
    assert_eq!((reply.status, reply.text()), (200, "ok\n"));
    assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
}

#[tokio::test]
async fn head_answers_like_get_without_the_body() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    for path in ["/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/nowhere"] {
        let (head, get) = (client.head(path).await, client.get(path).await);
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
        assert!(head.header("content-length").is_some(), "{path}");
    }
}

#[tokio::test]
async fn unknown_paths_get_a_404() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    for path in ["/v1", "/v1/throttle/", "/V1/throttle", "/healthz/..", "//", "/%2e", "/v1/%F0"] {
        let reply = client.get(path).await;
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.problem()["detail"].as_str().unwrap().contains(path));
        assert_eq!(client.post(path, "{}").await.status, 404, "{path}");
    }
    let long = format!("/{}", "x".repeat(5_000));
    assert!(client.get(&long).await.body.len() < 500, "a long path is not repeated whole");
}

#[tokio::test]
async fn unsupported_methods_get_a_405_with_the_supported_ones() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    for (method, path, allow) in [
        ("GET", "/v1/throttle", "POST"),
        ("PUT", "/v1/throttle", "POST"),
        ("OPTIONS", "/v1/throttle", "POST"),
        ("GET", "/v1/check", "POST"),
        ("GET", "/v1/check/batch", "POST"),
        ("PUT", "/v1/release", "POST"),
        ("GET", "/v1/settle", "POST"),
        ("GET", "/v1/renew", "POST"),
        ("POST", "/openapi.json", "GET, HEAD"),
        ("DELETE", "/v1/report", "POST"),
        ("POST", "/healthz", "GET, HEAD"),
        ("POST", "/readyz", "GET, HEAD"),
        ("DELETE", "/", "GET, HEAD"),
        ("BREW", "/metrics", "GET, HEAD"),
    ] {
        client.send(format!("{method} {path} HTTP/1.1\r\nHost: sluicegate\r\n\r\n")).await;
        let reply = client.reply().await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some(allow)), "{method} {path}");
        assert!(reply.problem()["detail"].as_str().unwrap().contains(method));
    }
    assert_eq!(client.head("/v1/throttle").await.status, 405);
}

//! Tests of all responses against `crates/sluicegate-server/openapi.json`.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::raw_client::{Client, Reply};
use super::test_server::TestServer;

const RULES: &str = "
identify:
  user: { attribute: user }
  api_key: { header: x-api-key, if_missing: 401 }
rules:
  - { name: checkout, match: { path: /checkout }, key: user, limit: 2/min, soft: { extra: 1, delay: 200ms } }
  - { name: login, match: { path: /login }, key: user, cooldown: { after: 3, within: 10m, block: 15m } }
  - { name: chat, match: { path: '/v1/chat/**' }, key: user, limit: [10000/hour, 50000/day] }
  - { name: slots, match: { path: '/v1/chat/**' }, key: user, limit: { concurrent: 99 } }
  - { name: keyed, match: { path: /keyed }, key: api_key, limit: 9/min }
  - { name: shadow, key: [], limit: 1/min, mode: shadow }
block: [{ user: eve }]
";

/// The `OpenAPI` description.
pub(super) struct Contract {
    whole: Value,
}

impl Contract {
    pub(super) fn new() -> Self {
        let whole = serde_json::from_str(include_str!("../../openapi.json")).unwrap();
        Self { whole }
    }

    /// Resolves a reference.
    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(place) => self.whole.pointer(place.trim_start_matches('#')).unwrap(),
            None => value,
        }
    }

    /// Validates a value against a schema.
    fn check(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let mut schema = schema.clone();
        schema["components"] = self.whole["components"].clone();
        let validator = jsonschema::draft202012::options().should_validate_formats(true);
        let validator = validator.build(&schema).unwrap();
        validator.validate(value).map_err(|error| format!("{}: {error}", error.instance_path()))
    }

    /// Validates a response against the description.
    fn validate(&self, method: &str, path: &str, reply: &Reply) {
        let (method, route) = (method.to_ascii_lowercase(), path.split('?').next().unwrap());
        let has_path = route.strip_prefix("/v1/authorize/").is_some();
        let route = if has_path { "/v1/authorize/{path}" } else { route };
        let item = &self.whole["paths"][route];
        assert!(item.is_object(), "{route} is not described");
        // The response to an unsupported method is the same for all endpoints.
        let operation = item.get(&method).or_else(|| item.get("get")).or_else(|| item.get("post"));
        let responses = &operation.unwrap()["responses"];
        let status = reply.status.to_string();
        let response = responses.get(&status).or_else(|| responses.get("default"));
        let response =
            response.unwrap_or_else(|| panic!("{method} {path}: {status} is not described"));
        let response = self.resolved(response);
        let Some(content) = response.get("content").filter(|_| !reply.body.is_empty()) else {
            assert_eq!(reply.text(), "", "{method} {path} {status}: a body is not described");
            return;
        };
        let kind = reply.header("content-type").unwrap();
        let described = content.get(kind);
        let described =
            described.unwrap_or_else(|| panic!("{path} {status}: {kind} is not described"));
        if kind.contains("json") {
            let right = self.check(&described["schema"], &reply.json());
            assert_eq!(right, Ok(()), "{method} {path} {status}: {}", reply.text());
        }
        for (name, header) in response["headers"].as_object().into_iter().flatten() {
            let Some(value) = reply.header(&name.to_ascii_lowercase()) else { continue };
            let schema = &self.resolved(header)["schema"];
            let number = schema["type"] == "integer";
            let value = if number { json!(value.parse::<u64>().unwrap()) } else { json!(value) };
            assert_eq!(self.check(schema, &value), Ok(()), "{path} {status} {name}");
        }
    }

    pub(super) async fn ask(
        &self,
        client: &mut Client,
        method: &str,
        path: &str,
        more: &str,
    ) -> Reply {
        client.send(format!("{method} {path} HTTP/1.1\r\nHost: sluicegate\r\n{more}\r\n")).await;
        let reply =
            if method == "HEAD" { client.reply_head().await } else { client.try_reply().await };
        let reply = reply.unwrap();
        self.validate(method, path, &reply);
        reply
    }

    async fn post(&self, client: &mut Client, path: &str, body: &Value) -> Reply {
        let reply = client.post(path, body.to_string()).await;
        self.validate("POST", path, &reply);
        reply
    }
}

/// Replaces the receipts of an example with live ones.
fn with_receipts(mut body: Value, live: &Value) -> Value {
    for field in ["reservation", "slot"] {
        if body.get(field).is_some_and(|_| live.get(field).is_some()) {
            body[field] = live[field].clone();
        }
    }
    body
}

const ESTIMATE: &str =
    r#"{"attributes":{"user":"42","path":"/v1/chat/x"},"cost":9,"reserve":true}"#;

#[tokio::test]
async fn all_request_examples_get_the_described_response() {
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    let contract = Contract::new();
    let mut requests = 0;
    for (path, item) in contract.whole["paths"].as_object().unwrap().clone() {
        for (method, operation) in
            item.as_object().unwrap().iter().filter(|(key, _)| *key != "parameters")
        {
            let content = &operation["requestBody"]["content"]["application/json"];
            for (name, example) in content["examples"].as_object().into_iter().flatten() {
                let right = contract.check(&content["schema"], &example["value"]);
                assert_eq!(right, Ok(()), "{path} {name}");
                let live = client.post("/v1/check", ESTIMATE).await.json();
                let body = with_receipts(example["value"].clone(), &live);
                let reply = contract.post(&mut client, &path, &body).await;
                assert_eq!(reply.status, 200, "{path} {name}: {}", reply.text());
                requests += 1;
            }
            if operation.get("requestBody").is_none() {
                let mut head = String::new();
                for parameter in item["parameters"].as_array().into_iter().flatten() {
                    if let (Some("header"), Some(name)) =
                        (parameter["in"].as_str(), parameter["name"].as_str())
                    {
                        let value = parameter["example"].as_str().unwrap();
                        let _ = write!(head, "{name}: {value}\r\n");
                    }
                }
                let path = path.replace("{path}", "other");
                let method = method.to_ascii_uppercase();
                let reply = contract.ask(&mut client, &method, &path, &head).await;
                assert!([200, 429].contains(&reply.status), "{method} {path}: {}", reply.status);
                requests += 1;
            }
        }
    }
    assert!(requests > 40, "{requests}");
}

#[tokio::test]
async fn all_response_examples_match_their_schemas() {
    let contract = Contract::new();
    let mut examples = 0;
    for (path, item) in contract.whole["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            for (status, response) in operation["responses"].as_object().into_iter().flatten() {
                let response = contract.resolved(response);
                for content in
                    response["content"].as_object().into_iter().flat_map(|it| it.values())
                {
                    for example in
                        content["examples"].as_object().into_iter().flat_map(|it| it.values())
                    {
                        let right = contract.check(&content["schema"], &example["value"]);
                        assert_eq!(right, Ok(()), "{path} {status}");
                        examples += 1;
                    }
                }
            }
        }
    }
    assert!(examples > 20, "{examples}");
}

#[tokio::test]
async fn refusals_and_errors_match_their_description() {
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    let contract = Contract::new();
    let buy = json!({"attributes": {"user": "42", "path": "/checkout"}});
    for status in [200, 200, 200, 429] {
        assert_eq!(contract.post(&mut client, "/v1/check", &buy).await.status, status);
    }
    for deny in [200, 204, 304, 400, 403, 418, 503] {
        let path = format!("/v1/check?deny_status={deny}");
        assert_eq!(contract.post(&mut client, &path, &buy).await.status, deny);
    }
    contract.post(&mut client, "/v1/check/batch", &json!([buy, {}])).await;
    for (user, path, status) in [("eve", "/", 403), ("42", "/keyed", 401)] {
        let body = json!({"attributes": {"user": user, "path": path}});
        assert_eq!(contract.post(&mut client, "/v1/check", &body).await.status, status);
        let list = contract.post(&mut client, "/v1/check/batch", &json!([body])).await;
        assert_eq!(list.json()[0]["allowed"], false);
    }
    for _ in 0..4 {
        let body = json!({"attributes": {"user": "42", "path": "/login"}, "status": 401});
        assert_eq!(contract.post(&mut client, "/v1/report", &body).await.status, 200);
    }
    let login = json!({"attributes": {"user": "42", "path": "/login"}});
    assert_eq!(contract.post(&mut client, "/v1/check", &login).await.json()["reason"], "blocked");
    let throttle = json!({"key": "a", "quota": "1/min", "cost": 2});
    assert_eq!(contract.post(&mut client, "/v1/throttle", &throttle).await.status, 429);
    contract.post(&mut client, "/v1/throttle/batch", &json!([throttle])).await;

    let live = client.post("/v1/check", ESTIMATE).await.json();
    gate.clock.advance(Duration::from_secs(60));
    let late = with_receipts(json!({"slot": ""}), &live);
    assert_eq!(contract.post(&mut client, "/v1/renew", &late).await.json()["held"], false);
    assert_eq!(contract.post(&mut client, "/v1/release", &late).await.json()["gone"], 1);
    let settle = with_receipts(json!({"reservation": "", "cost": 1}), &live);
    for settled in [true, false] {
        let reply = contract.post(&mut client, "/v1/settle", &settle).await;
        assert_eq!(reply.json()["settled"], settled);
    }

    let paths: Vec<String> = contract.whole["paths"].as_object().unwrap().keys().cloned().collect();
    for path in paths.iter().filter(|path| !path.starts_with("/v1/authorize")) {
        let item = contract.whole["paths"][path].clone();
        let method = if item.get("post").is_some() { "PUT" } else { "POST" };
        assert_eq!(contract.ask(&mut client, method, path, "").await.status, 405);
        if item.get("post").is_none() {
            continue;
        }
        assert_eq!(contract.post(&mut client, path, &json!("text")).await.status, 400);
        let xml = "Content-Type: application/xml\r\nContent-Length: 0\r\n";
        assert_eq!(contract.ask(&mut client, "POST", path, xml).await.status, 415);
        let long = "Expect: 100-continue\r\nContent-Length: 2000000\r\n";
        assert_eq!(contract.ask(&mut client, "POST", path, long).await.status, 413);
        client = gate.client().await;
    }
    assert_eq!(contract.ask(&mut client, "GET", "/v1/authorize", "").await.status, 400);
    assert_eq!(contract.ask(&mut client, "GET", "/readyz?what", "").await.status, 400);
    let head = format!("X-Long: {}\r\n", "x".repeat(20_000));
    assert_eq!(contract.ask(&mut client, "GET", "/healthz", &head).await.status, 431);
}

#[tokio::test]
async fn undecidable_requests_match_their_description() {
    let mut rules = String::from("rules:\n");
    for number in 0..70 {
        let rule = format!("name: r{number}, key: [], limit: {}/min", number + 1);
        let _ = writeln!(rules, "  - {{ {rule}, match: {{ path: /many }} }}");
    }
    let (gate, _) = TestServer::by(&rules).await;
    let (mut client, contract) = (gate.client().await, Contract::new());
    let many = json!({"attributes": {"path": "/many"}});
    assert_eq!(contract.post(&mut client, "/v1/check", &many).await.status, 422);
    contract.post(&mut client, "/v1/check/batch", &json!([many])).await;
    assert_eq!(contract.ask(&mut client, "GET", "/v1/authorize/many", "").await.status, 422);
}

#[tokio::test]
async fn the_description_is_served_as_checked_in() {
    let (gate, _) = TestServer::by("rules: []").await;
    let reply = gate.client().await.get("/openapi.json").await;
    assert_eq!((reply.status, reply.json()), (200, Contract::new().whole));
}

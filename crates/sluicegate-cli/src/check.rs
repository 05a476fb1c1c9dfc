//! `sluicegate check`: one request to a running server.

use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use serde_json::{Map, Value, json};

use crate::args::{CheckArgs, RequestArgs};
use crate::exit::CliError;
use crate::{http_client, output, runtime};

/// Sends the request and prints the answer; the exit code is 0 if it was allowed, 1 if refused.
pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode, CliError> {
    let (path, body) = request(args);
    let address = args.address;
    // Exit code 2, because 1 means a refusal.
    let (status, text) = runtime::run(exchange(args, path, body)).map_err(CliError::usage)?;
    output::print(&format!("{}\n", pretty(&text)))?;
    match status {
        StatusCode::OK => Ok(ExitCode::SUCCESS),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => {
            Ok(ExitCode::FAILURE)
        }
        status => Err(CliError::usage(anyhow!("{address} could not decide: it answered {status}"))),
    }
}

/// The path and the body of the request.
fn request(args: &CheckArgs) -> (&'static str, Value) {
    let mut body = Map::new();
    if let Some(cost) = args.cost {
        body.insert("cost".to_owned(), cost.into());
    }
    if let (Some(key), Some(quota)) = (&args.key, &args.quota) {
        body.extend(
            [("key", key), ("quota", quota)].map(|(name, text)| (name.to_owned(), json!(text))),
        );
        return ("/v1/throttle", Value::Object(body));
    }
    let mut attributes = Map::new();
    let RequestArgs { method, path, host, ip, headers, attributes: more } = &args.request;
    let ip = ip.map(|ip| ip.to_string());
    for (name, text) in [("method", method), ("path", path), ("host", host), ("ip", &ip)] {
        if let Some(text) = text {
            attributes.insert(name.to_owned(), json!(text));
        }
    }
    for attribute in more {
        attributes.insert(attribute.name.clone(), attribute.json());
    }
    body.insert("attributes".to_owned(), Value::Object(attributes));
    if !headers.is_empty() {
        let mut lines = Map::new();
        for header in headers {
            lines.insert(header.name.clone(), json!(header.value));
        }
        body.insert("headers".to_owned(), Value::Object(lines));
    }
    ("/v1/check", Value::Object(body))
}

async fn exchange(args: &CheckArgs, path: &str, body: Value) -> Result<(StatusCode, Bytes)> {
    let address = args.address.to_string();
    let request = Request::post(path)
        .header(HOST, &address)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body.to_string())))?;
    let hint = "start `sluicegate serve`, or give its address with --address";
    let (status, text) = http_client::send(&address, request, hint).await?;
    if status == StatusCode::NOT_FOUND {
        bail!("{address} answers HTTP but has no {path}; use --address with a Sluicegate server");
    }
    Ok((status, text))
}

/// The answer as indented JSON, or unchanged if it is not JSON.
///
/// A decision of the store has no `by`: it is added, so that every answer shows its decider.
pub(crate) fn pretty(text: &[u8]) -> String {
    let mut value: Result<Value, _> = serde_json::from_slice(text);
    if let Ok(Value::Object(answer)) = &mut value
        && answer.contains_key("decisions")
    {
        answer.entry("by").or_insert_with(|| "store".into());
    }
    let pretty = value.ok().and_then(|value| serde_json::to_string_pretty(&value).ok());
    pretty.unwrap_or_else(|| String::from_utf8_lossy(text).into_owned())
}

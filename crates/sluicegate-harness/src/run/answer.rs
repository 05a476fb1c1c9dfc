//! Answers of the program, converted to the form of expected ones.

use prost_types::value::Kind;
use serde_json::{Map, Value, json};

use crate::client::HttpResponse;
use crate::expected::TOKEN;

/// Headers about the connection.
const UNCOMPARED: [&str; 3] = ["date", "content-length", "connection"];

/// Tokens in an answer, and whether a deny cache refused.
#[derive(Debug, Default)]
pub(super) struct Extracted {
    pub(super) slot: Option<String>,
    pub(super) reservation: Option<String>,
    pub(super) by_memory: u64,
}

/// A response as status, headers and body.
pub(super) fn http(response: &HttpResponse, extracted: &mut Extracted) -> Value {
    let mut headers = Map::new();
    for (name, value) in &response.headers {
        if !UNCOMPARED.contains(&name.as_str()) {
            let before =
                headers.get(name).and_then(Value::as_str).map(|before| format!("{before}, "));
            headers.insert(name.clone(), json!(format!("{}{value}", before.unwrap_or_default())));
        }
    }
    if let Some(Value::String(slot)) = headers.get_mut("x-sluicegate-slot") {
        extracted.slot = Some(std::mem::replace(slot, TOKEN.to_owned()));
    }
    let mut body = match response.body.as_slice() {
        [] => Value::Null,
        bytes => serde_json::from_slice(bytes).unwrap_or_else(|_| json!(response.text())),
    };
    match &mut body {
        Value::Array(items) => items.iter_mut().for_each(|item| verdict(item, extracted)),
        other => verdict(other, extracted),
    }
    json!({"status": response.status, "headers": headers, "body": body})
}

/// Replaces tokens, which are unpredictable, and the origin of a deny cache, which must not
/// matter.
fn verdict(body: &mut Value, extracted: &mut Extracted) {
    let Value::Object(fields) = body else { return };
    for (name, kept) in [("slot", &mut extracted.slot), ("reservation", &mut extracted.reservation)]
    {
        if let Some(Value::String(text)) = fields.get_mut(name) {
            *kept = Some(std::mem::replace(text, TOKEN.to_owned()));
        }
    }
    if fields.get("by") == Some(&json!("memory")) && fields.get("allowed") != Some(&json!(true)) {
        fields.remove("by");
        extracted.by_memory += 1;
    }
}

/// A reply of the Redis protocol; `SLUICEGATE.CHECK` has a slot and a decider in it.
pub(super) fn resp(reply: &sluicegate_testkit::RespValue, extracted: &mut Extracted) -> Value {
    use sluicegate_testkit::RespValue as Resp;
    let Resp::Array(items) = reply else { return plain(reply) };
    let mut out: Vec<Value> = items.iter().map(plain).collect();
    for place in 1..out.len() {
        match (out[place - 1].as_str(), out[place].as_str()) {
            (Some("slot"), Some(slot)) => {
                extracted.slot = Some(slot.to_owned());
                out[place] = json!(TOKEN);
            }
            (Some("by"), Some("memory")) if out[1] == json!(0) => {
                extracted.by_memory += 1;
                out[place] = json!("store");
            }
            _ => {}
        }
    }
    Value::Array(out)
}

fn plain(value: &sluicegate_testkit::RespValue) -> Value {
    use sluicegate_testkit::RespValue as Resp;
    match value {
        Resp::Null => Value::Null,
        Resp::Integer(number) => json!(number),
        Resp::Text(text) => json!(String::from_utf8_lossy(text)),
        Resp::Error(text) => json!(format!("error {text}")),
        Resp::Array(items) => items.iter().map(plain).collect(),
        other => json!(format!("{other:?}")),
    }
}

/// An answer of Envoy's rate limit service.
pub(super) fn grpc(
    answer: &Result<crate::client::Answer, String>,
    extracted: &mut Extracted,
) -> Value {
    const OVER_LIMIT: i32 = 2;
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return json!(error),
    };
    let statuses = answer.statuses.iter().map(|status| {
        let limit = status.current_limit.as_ref().map(|limit| {
            json!({
                "requests_per_unit": limit.requests_per_unit,
                "unit": unit(limit.unit),
                "name": limit.name,
            })
        });
        let reset = status.duration_until_reset.as_ref();
        json!({
            "over": over(status.code),
            "limit": limit,
            "remaining": status.limit_remaining,
            "reset_s": reset.map(|reset| reset.seconds + i64::from(reset.nanos > 0)),
        })
    });
    let statuses: Vec<Value> = statuses.collect();
    let headers: Map<String, Value> = answer
        .headers
        .iter()
        .map(|header| {
            let raw = String::from_utf8_lossy(&header.raw_value);
            let value = if header.value.is_empty() { &*raw } else { &header.value };
            (header.key.to_ascii_lowercase(), json!(value))
        })
        .collect();
    let body = match answer.raw_body.as_slice() {
        [] => Value::Null,
        bytes => {
            serde_json::from_slice(bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(bytes)))
        }
    };
    let mut metadata = Map::new();
    for (name, value) in answer.metadata.iter().flat_map(|it| &it.fields) {
        let value = match &value.kind {
            Some(Kind::StringValue(text)) => json!(text),
            #[allow(clippy::cast_possible_truncation, reason = "milliseconds are whole and small")]
            Some(Kind::NumberValue(number)) => json!(*number as i64),
            Some(Kind::BoolValue(flag)) => json!(flag),
            _ => Value::Null,
        };
        metadata.insert(name.clone(), value);
    }
    if let Some(Value::String(slot)) = metadata.get_mut("slot") {
        extracted.slot = Some(std::mem::replace(slot, TOKEN.to_owned()));
    }
    if metadata.get("by") == Some(&json!("memory")) && answer.overall_code == OVER_LIMIT {
        metadata.remove("by");
        extracted.by_memory += 1;
    }
    json!({
        "over": over(answer.overall_code),
        "statuses": statuses,
        "headers": headers,
        "body": body,
        "metadata": metadata,
    })
}

/// Whether a code is `OVER_LIMIT`; a code that is neither that nor `OK` stays a number.
fn over(code: i32) -> Value {
    match code {
        1 => json!(false),
        2 => json!(true),
        other => json!(other),
    }
}

fn unit(unit: i32) -> &'static str {
    match unit {
        1 => "SECOND",
        2 => "MINUTE",
        3 => "HOUR",
        4 => "DAY",
        5 => "MONTH",
        6 => "YEAR",
        7 => "WEEK",
        _ => "UNKNOWN",
    }
}

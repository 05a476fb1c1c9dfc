//! The requests of a case, in the format of each transport.

use serde_json::{Map, Value, json};
use sluicegate_testkit::Connection;

use super::Runner;
use super::answer::{self, Extracted};
use crate::case::{Ended, Purpose, Request, Throttle, Via};
use crate::client::{Descriptor, Entry, HttpResponse};
use crate::rule_file::{Algorithm, quota_text};

impl Runner<'_> {
    pub(super) fn post(&mut self, node: usize, target: &str, body: &Value) -> Value {
        let response = self.nodes[node].http.post(target, &body.to_string());
        self.http_answer(0, response)
    }

    pub(super) fn http_answer(
        &mut self,
        id: u32,
        response: std::io::Result<HttpResponse>,
    ) -> Value {
        let mut extracted = Extracted::default();
        let found = match response {
            Ok(response) => answer::http(&response, &mut extracted),
            Err(error) => json!(format!("no answer: {error}")),
        };
        self.keep(id, extracted);
        found
    }

    fn count(&mut self, extracted: &Extracted) {
        self.seen.by_memory += extracted.by_memory;
        self.last_by_memory = extracted.by_memory > 0;
    }

    fn keep(&mut self, id: u32, extracted: Extracted) {
        self.count(&extracted);
        if id == 0 {
            return;
        }
        self.slots.extend(extracted.slot.map(|slot| (id, slot)));
        self.reservations.extend(extracted.reservation.map(|token| (id, token)));
    }

    pub(super) fn send_check(
        &mut self,
        id: u32,
        node: usize,
        via: Via,
        request: &Request,
    ) -> Value {
        match via {
            Via::Http => {
                let body = check_body(request).to_string();
                let response = self.nodes[node].http.post("/v1/check", &body);
                self.http_answer(id, response)
            }
            Via::Authorize | Via::Tricked => {
                let response = self.authorize(node, "/v1/authorize", request);
                self.http_answer(id, response)
            }
            Via::Resp | Via::Grpc => {
                let mut extracted = Extracted::default();
                let reply = self.nodes[node].resp.command(&check_words(request));
                let found = match reply {
                    Ok(reply) => answer::resp(&reply, &mut extracted),
                    Err(error) => json!(format!("no answer: {error}")),
                };
                self.keep(id, extracted);
                found
            }
        }
    }

    /// Sends a request whose client tries to choose the status of refusals; returns the status.
    pub(super) fn send_tricked(&mut self, node: usize, request: &Request) -> Value {
        let response = self.authorize(node, "/v1/authorize?deny_status=200#x", request);
        response.map_or_else(|error| json!(error.to_string()), |response| json!(response.status))
    }

    fn authorize(
        &mut self,
        node: usize,
        target: &str,
        request: &Request,
    ) -> std::io::Result<HttpResponse> {
        let mut headers =
            vec![("x-forwarded-method", &*request.method), ("x-forwarded-uri", &*request.path)];
        for (name, value) in [
            ("x-user", &request.user),
            ("x-user", &request.second_user),
            ("x-tenant", &request.tenant),
            ("x-device", &request.device),
            ("x-forwarded-for", &request.ip),
        ] {
            headers.extend(value.as_deref().map(|value| (name, value)));
        }
        self.nodes[node].http.send("GET", target, &headers, "")
    }

    pub(super) fn send_batch(&mut self, node: usize, via: Via, requests: &[Request]) -> Value {
        if via == Via::Resp {
            let words: Vec<_> = requests.iter().map(check_words).collect();
            return self.pipeline(node, &words);
        }
        let body: Value = requests.iter().map(check_body).collect();
        self.post(node, "/v1/check/batch", &body)
    }

    /// Sends commands together and reads all replies.
    fn pipeline(&mut self, node: usize, commands: &[Vec<String>]) -> Value {
        let mut extracted = Extracted::default();
        let connection = &mut self.nodes[node].resp;
        let found = match pipelined(connection, commands) {
            Ok(replies) => {
                replies.iter().map(|reply| answer::resp(reply, &mut extracted)).collect()
            }
            Err(error) => json!(format!("no answer: {error}")),
        };
        self.count(&extracted);
        found
    }

    pub(super) fn send_group(&mut self, node: usize, items: &[(Request, Purpose)]) -> Value {
        let descriptors = items.iter().map(|(request, purpose)| descriptor(request, *purpose));
        let found = self.nodes[node].call(descriptors.collect());
        let mut extracted = Extracted::default();
        let found = answer::grpc(&found, &mut extracted);
        self.keep(0, extracted);
        found
    }

    pub(super) fn send_throttles(
        &mut self,
        node: usize,
        via: Via,
        throttles: &[Throttle],
    ) -> Value {
        if via == Via::Resp {
            let words: Vec<_> = throttles.iter().map(throttle_words).collect();
            return self.pipeline(node, &words);
        }
        match throttles {
            [one] => self.post(node, "/v1/throttle", &throttle_body(one)),
            all => {
                let body = all.iter().map(throttle_body).collect();
                self.post(node, "/v1/throttle/batch", &body)
            }
        }
    }

    pub(super) fn send_report(&mut self, node: usize, request: &Request, ended: Ended) -> Value {
        let mut body = json!({"attributes": attributes(request)});
        match ended {
            Ended::Status(status) => body["status"] = json!(status),
            Ended::Failed { failures } => {
                body["failed"] = json!(true);
                body["failures"] = json!(failures);
            }
            Ended::Succeeded => body["failed"] = json!(false),
        }
        self.post(node, "/v1/report", &body)
    }
}

fn pipelined(
    connection: &mut Connection,
    commands: &[Vec<String>],
) -> std::io::Result<Vec<sluicegate_testkit::RespValue>> {
    connection.send_all(commands)?;
    commands.iter().map(|_| connection.receive()).collect()
}

fn attributes(request: &Request) -> Value {
    let all = request.attributes().into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
    Value::Object(all.collect::<Map<_, _>>())
}

pub(super) fn check_body(request: &Request) -> Value {
    let mut body = json!({"attributes": attributes(request)});
    if let Some(cost) = request.cost {
        body["cost"] = json!(cost);
    }
    if request.reserve {
        body["reserve"] = json!(true);
    }
    body
}

fn check_words(request: &Request) -> Vec<String> {
    let mut words = vec!["SLUICEGATE.CHECK".to_owned()];
    for (name, value) in request.attributes() {
        words.extend([name.to_owned(), value.to_owned()]);
    }
    if let Some(cost) = request.cost {
        words.extend(["COST".to_owned(), cost.to_string()]);
    }
    words
}

fn descriptor(request: &Request, purpose: Purpose) -> Descriptor {
    let entry = |(key, value): (&str, &str)| Entry { key: key.to_owned(), value: value.to_owned() };
    let mut entries: Vec<Entry> = request.attributes().into_iter().map(entry).collect();
    if purpose == Purpose::Charge {
        entries.push(entry(("sluicegate", "charge")));
    }
    Descriptor { entries, hits_addend: request.cost, is_negative_hits: purpose == Purpose::Refund }
}

fn throttle_body(throttle: &Throttle) -> Value {
    let mut body = json!({
        "key": throttle.key,
        "quota": quota_text(&throttle.quota),
        "algorithm": throttle.algorithm.name(),
        "cost": throttle.cost,
    });
    if let Algorithm::SlidingWindow { slices, strict } = throttle.algorithm {
        body["slices"] = json!(slices);
        body["strict"] = json!(strict);
    }
    body
}

fn throttle_words(throttle: &Throttle) -> Vec<String> {
    let quota = &throttle.quota;
    let numbers = [quota.capacity() - 1, quota.amount, quota.period_us / 1_000_000];
    let mut words = vec!["CL.THROTTLE".to_owned(), throttle.key.clone()];
    words.extend(numbers.map(|number| number.to_string()));
    words.push(throttle.cost.to_string());
    words
}

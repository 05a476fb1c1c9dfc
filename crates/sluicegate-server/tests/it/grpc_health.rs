//! Tests of the health and reflection services.

use sluicegate::{ManualClock, Memory};
use sluicegate_server::{Drained, Server};
use tonic::Code;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;

use super::grpc::{GrpcTestServer, HealthCheckRequest, HealthCheckResponse, descriptor, error_of};
use super::test_server::without_rules;

const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";
const SERVING: i32 = 1;
const NOT_SERVING: i32 = 2;
const SERVICE_UNKNOWN: i32 = 3;

fn about(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

async fn watch(gate: &GrpcTestServer, service: &str) -> tonic::Streaming<HealthCheckResponse> {
    let mut client = Grpc::new(gate.channel.clone());
    client.ready().await.unwrap();
    let codec = tonic_prost::ProstCodec::default();
    let request = tonic::Request::new(about(service));
    let path = PathAndQuery::from_static(WATCH);
    client.server_streaming(request, path, codec).await.unwrap().into_inner()
}

#[tokio::test]
async fn all_names_of_the_service_are_known() {
    let gate = GrpcTestServer::by("rules: []").await;
    for service in ["", "ratelimit", "envoy.service.ratelimit.v3.RateLimitService"] {
        let answer: HealthCheckResponse = gate.call(CHECK, about(service)).await.unwrap();
        assert_eq!(answer.status, SERVING, "{service}");
    }
    let (code, _) = error_of(gate.call::<_, HealthCheckResponse>(CHECK, about("other")).await);
    assert_eq!(code, Code::NotFound);
}

#[tokio::test]
async fn a_watch_reports_the_shutdown_and_does_not_delay_it() {
    let gate = GrpcTestServer::by("rules: []").await;
    let mut known = watch(&gate, "").await;
    let mut unknown = watch(&gate, "other").await;
    assert_eq!(known.message().await.unwrap().unwrap().status, SERVING);
    assert_eq!(unknown.message().await.unwrap().unwrap().status, SERVICE_UNKNOWN);
    let serving = gate.stop();
    assert_eq!(known.message().await.unwrap().unwrap().status, NOT_SERVING);
    assert_eq!(known.message().await.unwrap_err().code(), Code::Unavailable);
    assert_eq!(unknown.message().await.unwrap_err().code(), Code::Unavailable);
    assert_eq!(serving.await.unwrap(), Drained::All);
}

#[tokio::test]
async fn an_idle_server_stops_at_once() {
    let gate = GrpcTestServer::by("rules: []").await;
    gate.ask(&[descriptor(&[("a", "b")])]).await;
    let channel = gate.channel.clone();
    assert_eq!(gate.stop().await.unwrap(), Drained::All);
    drop(channel);
}

#[tokio::test]
async fn reflection_lists_the_services_only_if_enabled() {
    const LIST: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    // A request for the list of services, and for the file of one of them.
    let list = |channel| async move {
        let mut client = Grpc::new(channel);
        client.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::<ReflectionRequest, ReflectionResponse>::default();
        let question = ReflectionRequest { list_services: Some("*".to_owned()) };
        let request = tonic::Request::new(question);
        let path = PathAndQuery::from_static(LIST);
        let answer = client.server_streaming(request, path, codec).await;
        match answer {
            Ok(answer) => Ok(answer.into_inner().message().await.unwrap().unwrap()),
            Err(status) => Err(status),
        }
    };
    let gate = GrpcTestServer::by("rules: []").await;
    assert_eq!(list(gate.channel.clone()).await.unwrap_err().code(), Code::Unimplemented);

    let server = Server::new(without_rules(Memory::with_clock(ManualClock::default())));
    let gate = GrpcTestServer::open(server.grpc_reflection(true)).await;
    let reflected = list(gate.channel.clone()).await.unwrap();
    let names: Vec<String> =
        reflected.services.unwrap().service.into_iter().map(|service| service.name).collect();
    for name in ["envoy.service.ratelimit.v3.RateLimitService", "grpc.health.v1.Health"] {
        assert!(names.iter().any(|other| other == name), "{names:?}");
    }
}

/// A reflection request.
#[derive(Clone, PartialEq, prost::Message)]
struct ReflectionRequest {
    #[prost(string, optional, tag = "7")]
    list_services: Option<String>,
}

/// A reflection response.
#[derive(Clone, PartialEq, prost::Message)]
struct ReflectionResponse {
    #[prost(message, optional, tag = "6")]
    services: Option<Services>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Services {
    #[prost(message, repeated, tag = "1")]
    service: Vec<ServiceName>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ServiceName {
    #[prost(string, tag = "1")]
    name: String,
}

//! Tests of raw calls over HTTP/2, including malformed ones.

use std::convert::Infallible;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::TcpStream;

use super::grpc::{
    GrpcTestServer, LIMIT, RateLimitRequest, RateLimitResponse, descriptor,
    rate_limit_response::Code,
};

const RULES: &str = "rules: [{ name: all, key: [], limit: 5/min }]";

/// Frames a message.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], &length[..], message].concat()
}

pub(crate) fn encoded_call() -> Vec<u8> {
    let call = RateLimitRequest {
        domain: "edge".to_owned(),
        descriptors: vec![descriptor(&[("a", "b")])],
        hits_addend: 0,
    };
    framed(&call.encode_to_vec())
}

/// Sends a raw request.
pub(crate) async fn send(
    gate: &GrpcTestServer,
    request: Request<Full<Bytes>>,
) -> (Response<()>, Bytes, HeaderMap) {
    let stream = TcpStream::connect(gate.address).await.unwrap();
    // Without it, Nagle's algorithm delays the message by 40 ms.
    stream.set_nodelay(true).unwrap();
    let stream = TokioIo::new(stream);
    let builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let (mut sender, connection) = builder.handshake::<_, Full<Bytes>>(stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap();
    let trailers = body.trailers().cloned().unwrap_or_default();
    connection.abort();
    (Response::from_parts(head, ()), body.to_bytes(), trailers)
}

pub(crate) fn call(path: &str, body: Vec<u8>, headers: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let mut request = Request::post(format!("http://sluicegate{path}"));
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/grpc");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(body.into())).unwrap()
}

#[tokio::test]
async fn a_response_is_a_message_and_its_trailers() {
    let gate = GrpcTestServer::by(RULES).await;
    for kind in ["application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8"] {
        let (head, body, trailers) =
            send(&gate, call(LIMIT, encoded_call(), &[("content-type", kind)])).await;
        assert_eq!(head.status(), StatusCode::OK);
        assert_eq!(head.headers()["content-type"], "application/grpc");
        assert_eq!(trailers["grpc-status"], "0");
        assert_eq!(body[..5], framed(&body[5..])[..5]);
        assert_eq!(RateLimitResponse::decode(&body[5..]).unwrap().statuses.len(), 1);
    }
}

#[tokio::test]
async fn unreadable_calls_are_refused_with_a_reason() {
    let gate = GrpcTestServer::by(RULES).await;
    let mut longer = encoded_call();
    longer.push(0);
    let shorter = encoded_call()[..20].to_vec();
    let huge = [&[0, 0xff, 0xff, 0xff, 0xff][..], &[0; 100]].concat();
    for (body, words) in [
        (vec![], "no message"),
        (vec![0, 0, 0], "no message"),
        (longer, "length of the call differs"),
        (shorter, "length of the call differs"),
        (huge, "longer than 65536"),
        (framed(&vec![0; 70_000]), "longer than 65536"),
        (framed(b"nonsense"), "cannot be read"),
    ] {
        let (head, body, trailers) = send(&gate, call(LIMIT, body, &[])).await;
        assert_eq!(
            (head.status(), &trailers["grpc-status"]),
            (StatusCode::OK, &"0".parse().unwrap())
        );
        let answer = RateLimitResponse::decode(&body[5..]).unwrap();
        assert_eq!(answer.overall_code(), Code::OverLimit);
        let message = str::from_utf8(&answer.raw_body).unwrap();
        assert!(message.contains(words), "{message}");
    }
}

#[tokio::test]
async fn unsupported_calls_fail_with_a_reason() {
    let gate = GrpcTestServer::by(RULES).await;
    let mut compressed = encoded_call();
    compressed[0] = 1;
    for (path, body, headers, status, words) in [
        (LIMIT, compressed, &[][..], "12", "compressed"),
        (LIMIT, encoded_call(), &[("grpc-encoding", "gzip")], "12", "compressed"),
        (
            "/envoy.service.ratelimit.v3.RateLimitService/Other",
            encoded_call(),
            &[],
            "12",
            "no%20method",
        ),
        ("/", encoded_call(), &[], "12", "no%20method"),
    ] {
        let (head, body, trailers) = send(&gate, call(path, body, headers)).await;
        assert_eq!((head.status(), body.len(), trailers.len()), (StatusCode::OK, 0, 0));
        let message = head.headers()["grpc-message"].to_str().unwrap();
        assert_eq!(head.headers()["grpc-status"], status, "{message}");
        assert!(message.contains(words), "{message}");
    }
    let kind = [("content-type", "application/json")];
    let (head, body, _) = send(&gate, call(LIMIT, encoded_call(), &kind)).await;
    assert_eq!(head.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert!(body.starts_with(b"this port speaks gRPC"));
    let get = Request::get("http://sluicegate/").body(Full::default()).unwrap();
    assert_eq!(send(&gate, get).await.0.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(
        gate.statuses(&[descriptor(&[("a", "b")])]).await,
        [(false, 4)],
        "nothing was charged"
    );
}

#[tokio::test]
async fn a_message_may_come_in_pieces() {
    let gate = GrpcTestServer::by(RULES).await;
    let stream = TokioIo::new(TcpStream::connect(gate.address).await.unwrap());
    let builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let (mut sender, connection) = builder.handshake(stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let pieces =
        encoded_call().into_iter().map(|byte| Ok::<_, Infallible>(Bytes::from(vec![byte])));
    let body = Pieces(pieces.collect::<Vec<_>>().into_iter());
    let request = Request::post(format!("http://sluicegate{LIMIT}"))
        .header("content-type", "application/grpc")
        .body(body)
        .unwrap();
    let answer = sender.send_request(request).await.unwrap().into_body().collect().await.unwrap();
    assert_eq!(answer.trailers().unwrap()["grpc-status"], "0");
    connection.abort();
}

/// A body of these pieces.
struct Pieces(std::vec::IntoIter<Result<Bytes, Infallible>>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Infallible>>> {
        let piece = self.0.next();
        std::task::Poll::Ready(piece.map(|piece| piece.map(hyper::body::Frame::data)))
    }
}

//! A lower bound for the server: the same transport with a constant response.
//!
//! hyper reads each `POST /v1/throttle` and sends the same bytes; with `grpc`, tonic does so for
//! `ShouldRateLimit`. `scripts/bench-servers` compares the real server with it.
//!
//! ```text
//! cargo bench -p sluicegate-server --bench floor -- 127.0.0.1:7170
//! cargo bench -p sluicegate-server --bench floor -- grpc 127.0.0.1:7171
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and panics on errors"
)]

#[path = "floor/grpc.rs"]
mod grpc;
#[path = "../src/grpc/proto.rs"]
mod proto;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as Bound};
use std::thread;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// The headers of a real response.
const HEADERS: [(&str, &str); 7] = [
    ("x-ratelimit-limit", "1000000"),
    ("x-ratelimit-remaining", "999999"),
    ("x-ratelimit-reset", "1"),
    ("ratelimit-policy", "\"throttle\";q=1000000;w=1"),
    ("ratelimit", "\"throttle\";r=999999;t=1"),
    ("content-type", "application/json"),
    ("cache-control", "no-store"),
];
const BODY: &str = "{\"allowed\":true,\"rule\":\"throttle\",\"reason\":null,\"limit\":1000000,\
    \"remaining\":999999,\"cost\":1,\"retry_after_ms\":null,\"reset_after_ms\":1,\"delay_ms\":0,\
    \"decisions\":[{\"limit_name\":\"throttle:token_bucket\",\"algorithm\":\"token_bucket\",\
    \"allowed\":true,\"reason\":null,\"limit\":1000000,\"remaining\":999999,\"granted\":1,\
    \"retry_after_ms\":null,\"reset_after_ms\":1,\"delay_ms\":0}]}";

fn main() {
    let address = std::env::args().skip(1).find_map(|word| word.parse::<SocketAddr>().ok());
    // Without an address, as in a run of all benchmarks, there is no client.
    let Some(address) = address else { return };
    let by_grpc = std::env::args().any(|word| word == "grpc");
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads: Vec<_> = (0..cores)
        .map(|_| {
            let bound = share(address);
            thread::spawn(move || {
                let runtime = Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    if by_grpc { grpc::serve(bound).await } else { serve(bound).await }
                });
            })
        })
        .collect();
    println!("listening on {address}");
    for thread in threads {
        thread.join().unwrap();
    }
}

fn share(address: SocketAddr) -> Bound {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&address.into()).unwrap();
    socket.listen(4_096).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.into()
}

async fn serve(bound: Bound) {
    let listener = TcpListener::from_std(bound).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        tokio::spawn(async move {
            let service = service_fn(answer);
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let _ = request.into_body().collect().await;
    let mut response = Response::builder();
    for (name, value) in HEADERS {
        response = response.header(name, value);
    }
    Ok(response.body(Full::new(Bytes::from_static(BODY.as_bytes()))).unwrap())
}

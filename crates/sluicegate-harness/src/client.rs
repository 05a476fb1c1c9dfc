//! Clients of the program that share no code with it.

mod grpc;
mod http;

pub(crate) use self::grpc::{Answer, Descriptor, Entry, GrpcClient};
pub(crate) use self::http::{HttpClient, HttpResponse};

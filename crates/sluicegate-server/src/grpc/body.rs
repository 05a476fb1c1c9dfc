//! The body of a gRPC response: a message and the trailers with its status.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Bytes, Frame, SizeHint};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tonic::Status;

use super::health::Watch;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const OK: HeaderValue = HeaderValue::from_static("0");

/// The body of a response.
pub(super) enum GrpcBody {
    Empty,
    /// Bytes without trailers.
    Plain(Option<Bytes>),
    /// A framed message; the trailers of a successful call follow.
    Message(Bytes),
    /// The trailers of a successful call.
    Ended,
    Watching(Box<Watch>),
    /// The body of a service that frames its messages itself.
    Framed(tonic::body::Body),
}

impl GrpcBody {
    pub(super) fn message(framed: Bytes) -> Self {
        Self::Message(framed)
    }

    pub(super) fn plain(bytes: Bytes) -> Self {
        Self::Plain(Some(bytes))
    }
}

/// Returns the trailers of a successful call.
pub(super) fn ok_trailers() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(STATUS, OK);
    trailers
}

impl hyper::body::Body for GrpcBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let body = &mut *self;
        let (frame, rest) = match body {
            Self::Empty => return Poll::Ready(None),
            Self::Plain(bytes) => (bytes.take().map(Frame::data), Self::Empty),
            Self::Message(message) => (Some(Frame::data(std::mem::take(message))), Self::Ended),
            Self::Ended => (Some(Frame::trailers(ok_trailers())), Self::Empty),
            Self::Watching(watch) => return watch.poll_frame(context),
            Self::Framed(framed) => {
                let polled = Pin::new(framed).poll_frame(context);
                // An error of such a body is the status of the call.
                return polled.map(|frame| {
                    frame.map(|frame| Ok(frame.unwrap_or_else(|status| trailers(&status))))
                });
            }
        };
        *body = rest;
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty | Self::Plain(None) => true,
            Self::Framed(framed) => framed.is_end_stream(),
            Self::Plain(Some(_)) | Self::Message(_) | Self::Ended | Self::Watching(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            _ => SizeHint::default(),
        }
    }
}

fn trailers(status: &Status) -> Frame<Bytes> {
    let mut trailers = HeaderMap::with_capacity(2);
    let _ = status.add_header(&mut trailers);
    Frame::trailers(trailers)
}

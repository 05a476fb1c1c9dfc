//! What is sent back for a call: a message and how it ended, in the words of HTTP/2.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Bytes, Frame, SizeHint};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tonic::Status;

use super::health::Watch;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const OK: HeaderValue = HeaderValue::from_static("0");

/// The body of an answer.
pub(super) enum Body {
    Empty,
    /// Nothing but these bytes.
    Plain(Option<Bytes>),
    /// A message, framed, and behind it that all is well.
    Message(Bytes),
    /// That all is well.
    Ended,
    Watching(Box<Watch>),
    /// Of a service that frames its messages itself.
    Framed(tonic::body::Body),
}

impl Body {
    pub(super) fn message(framed: Bytes) -> Self {
        Self::Message(framed)
    }

    pub(super) fn plain(bytes: Bytes) -> Self {
        Self::Plain(Some(bytes))
    }
}

/// What is behind the last message of a call that went well.
pub(super) fn well() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(STATUS, OK);
    trailers
}

impl hyper::body::Body for Body {
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
            Self::Ended => (Some(Frame::trailers(well())), Self::Empty),
            Self::Watching(watch) => return watch.poll_frame(context),
            Self::Framed(framed) => {
                let polled = Pin::new(framed).poll_frame(context);
                // Its frames never fail but with how the call ended.
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

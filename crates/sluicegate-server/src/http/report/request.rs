//! What a body reports, or everything that is wrong with it.

use sluicegate_rules::{Purpose, Request};

use crate::http::check::{Call, CallFields};
use crate::http::problem::Mistake;
use crate::http::reading::{self, Found, Reader};

/// What a body reports.
#[derive(Debug)]
pub(super) struct ReportBody<'a> {
    call: Call<'a>,
    ended: Ended,
    failures: u64,
}

/// How the request ended.
#[derive(Debug, Clone, Copy)]
enum Ended {
    /// With a status: rules say which are failures.
    Status(u16),
    Failed(bool),
}

/// A field that a body may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Attributes,
    Headers,
    Peer,
    Status,
    Failed,
    Failures,
}

impl reading::Field for Field {
    const ALL: &'static [Self] =
        &[Self::Attributes, Self::Headers, Self::Peer, Self::Status, Self::Failed, Self::Failures];
    const EXAMPLE: &'static str =
        r#"{"attributes":{"user":"42","method":"POST","path":"/login"},"status":401}"#;

    fn as_str(self) -> &'static str {
        match self {
            Self::Attributes => "attributes",
            Self::Headers => "headers",
            Self::Peer => "peer",
            Self::Status => "status",
            Self::Failed => "failed",
            Self::Failures => "failures",
        }
    }

    fn depth(self) -> u8 {
        Self::depth_of(self)
    }
}

impl CallFields for Field {
    const ATTRIBUTES: Self = Self::Attributes;
    const HEADERS: Self = Self::Headers;
    const PEER: Self = Self::Peer;
}

impl<'a> ReportBody<'a> {
    /// Reads a body; the error lists all of its mistakes.
    pub(super) fn read(body: &'a [u8]) -> Result<Self, Vec<Mistake>> {
        let mut fields = reading::object(body)?;
        let mut reader = Reader::of(&fields);
        let call = Call::read(&mut reader, &mut fields);
        let (status, failed) = (fields.take(Field::Status), fields.take(Field::Failed));
        let ended = reader.ended(status, failed);
        let failures = reader.units(Field::Failures, fields.take(Field::Failures), 1);
        let failures = failures.map_or(1, sluicegate::Cost::units);
        reader.finish(ended.map(|ended| Self { call, ended, failures }))
    }

    /// The purpose for which the rules are evaluated.
    pub(super) fn purpose(&self) -> Purpose {
        match self.ended {
            Ended::Status(status) => Purpose::Failure(Some(status)),
            Ended::Failed(true) => Purpose::Failure(None),
            Ended::Failed(false) => Purpose::Success,
        }
    }

    /// The request that it is about.
    pub(super) fn request(&self) -> Request<'_> {
        self.call.request().cost(self.failures)
    }
}

impl Reader {
    fn ended(&mut self, status: Option<Found<'_>>, failed: Option<Found<'_>>) -> Option<Ended> {
        match (status, failed) {
            (Some(_), Some(_)) => {
                self.refuse(Field::Failed, "there is a `status` too; give one of them")
            }
            (Some(Found::Whole(status @ 100..=999)), None) => {
                u16::try_from(status).ok().map(Ended::Status)
            }
            (Some(found), None) => {
                let detail = format!("found {found}; use a status from 100 to 999");
                self.refuse(Field::Status, detail)
            }
            (None, Some(Found::Bool(failed))) => Some(Ended::Failed(failed)),
            (None, Some(found)) => {
                self.refuse(Field::Failed, format!("found {found}; use true or false"))
            }
            (None, None) => {
                let detail = "it is missing; say how the request ended, or that it `failed`";
                self.refuse(Field::Status, detail)
            }
        }
    }
}

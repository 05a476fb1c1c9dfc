//! The buffers of a busy connection, and the loop that answers its commands.
//!
//! Each thread pools a few, so that an idle connection needs no buffers.

use std::cell::RefCell;

use super::Resp;
use super::arguments::Arguments;
use super::check::Checks;
use super::command::Command;
use super::parser;
use super::parser::{Argument, MAX_COMMAND, ParsedCommand, ProtocolError};
use super::reply_writer::ReplyWriter;
use super::session::{self, NextAction, Session};
use super::throttle::Throttles;
use crate::store_stats::StoreStats;

/// The size of the input buffer.
pub(super) const READ_BUFFER: usize = 64 * 1_024;
/// The size at which replies are sent before further commands are answered.
const SEND_THRESHOLD: usize = 64 * 1_024;
/// The number of pooled pipelines of each thread.
const POOL_SIZE: usize = 4;

thread_local! {
    #[allow(clippy::vec_box, reason = "they are moved around, and are large")]
    static IDLE: RefCell<Vec<Box<Pipeline>>> = const { RefCell::new(Vec::new()) };
}

/// The buffers of a busy connection.
#[derive(Debug)]
pub(super) struct Pipeline {
    /// The bytes that were read, at its start.
    input: Vec<u8>,
    filled: usize,
    /// The position up to which commands have been parsed.
    at: usize,
    /// The arguments of the queued commands and of the current one.
    arguments: Vec<Argument>,
    /// The index of the first argument of a command that was parsed but not answered or queued.
    current: Option<usize>,
    throttles: Throttles,
    checks: Checks,
    pub(super) replies: ReplyWriter,
}

/// The next step of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    /// Wait for the store.
    Decide,
    /// Send the replies, and continue.
    Send,
    /// Send the replies, and read until the incomplete command has `needs` bytes.
    Read { needs: usize },
    /// Send the replies, and close.
    Close,
}

impl Pipeline {
    fn new() -> Self {
        Self {
            input: vec![0; READ_BUFFER],
            filled: 0,
            at: 0,
            arguments: Vec::new(),
            current: None,
            throttles: Throttles::default(),
            checks: Checks::default(),
            replies: ReplyWriter::default(),
        }
    }

    /// Takes a pipeline from the pool of this thread.
    pub(super) fn take() -> Box<Self> {
        let idle = IDLE.try_with(|idle| idle.borrow_mut().pop()).ok().flatten();
        idle.unwrap_or_else(|| Box::new(Self::new()))
    }

    /// Returns it to the pool, after all commands were answered and all replies sent.
    pub(super) fn release(mut self: Box<Self>) {
        (self.filled, self.at) = (0, 0);
        self.arguments.clear();
        self.replies.bytes.clear();
        // Pipelines that have grown are not pooled.
        if self.input.len() > READ_BUFFER || self.replies.bytes.capacity() > 4 * SEND_THRESHOLD {
            return;
        }
        // Fails only while the thread ends.
        let _ = IDLE.try_with(|idle| {
            let mut idle = idle.borrow_mut();
            if idle.len() < POOL_SIZE {
                idle.push(self);
            }
        });
    }

    /// Returns the space for input after `offset` bytes.
    pub(super) fn room(&mut self, offset: usize) -> &mut [u8] {
        if self.input.len() < offset + READ_BUFFER / 2 {
            self.input.resize(MAX_COMMAND + READ_BUFFER, 0);
        }
        &mut self.input[offset..]
    }

    /// Records that `read` bytes were read after these earlier ones.
    pub(super) fn fill(&mut self, before: &[u8], read: usize) {
        self.input[..before.len()].copy_from_slice(before);
        (self.filled, self.at) = (before.len() + read, 0);
    }

    /// Returns the bytes that are not parsed yet.
    pub(super) fn rest(&self) -> &[u8] {
        &self.input[self.at..self.filled]
    }

    /// Answers commands until the connection has to wait.
    pub(super) fn advance<S: StoreStats>(
        &mut self,
        session: &mut Session,
        resp: &Resp<S>,
    ) -> NextStep {
        loop {
            let first = match self.current.take() {
                Some(first) => first,
                None if self.replies.bytes.len() >= SEND_THRESHOLD => return NextStep::Send,
                None => {
                    let first = self.arguments.len();
                    let bytes = &mut self.input[..self.filled];
                    match parser::parse(bytes, self.at, &mut self.arguments) {
                        Ok(ParsedCommand::Complete { length }) => self.at += length,
                        Ok(ParsedCommand::Incomplete { needs }) if self.flush(resp) => {
                            return NextStep::Read { needs };
                        }
                        Err(error) if self.flush(resp) => return self.refuse(error, resp),
                        // Parsed again after the queued commands have been answered.
                        Ok(ParsedCommand::Incomplete { .. }) | Err(_) => return NextStep::Decide,
                    }
                    // An empty command needs no reply.
                    if first == self.arguments.len() {
                        continue;
                    }
                    first
                }
            };
            match self.answer(first, session, resp) {
                Ok(NextAction::Continue) => {}
                Ok(NextAction::Close) => return NextStep::Close,
                Err(MustWait) => {
                    self.current = Some(first);
                    return NextStep::Decide;
                }
            }
        }
    }

    /// Waits until the store has decided the queued commands.
    pub(super) async fn decide<S: StoreStats>(&mut self, session: &Session, resp: &Resp<S>) {
        let (gate, metrics) = (&*resp.context.gate, &resp.context.metrics);
        let bytes = &self.input[..self.filled];
        if !self.throttles.is_empty() {
            self.throttles.decide(gate.limiter(), metrics, bytes, &mut self.replies).await;
        }
        if !self.checks.is_empty() {
            let all = Arguments { bytes, positions: &self.arguments };
            let replies = (&mut self.replies, session.version);
            self.checks.decide(gate, metrics, all, replies).await;
        }
        // Only the arguments of the current command are kept.
        let answered = self.current.unwrap_or(self.arguments.len());
        self.arguments.drain(..answered);
        self.current = self.current.map(|_| 0);
    }

    /// Answers or queues one command, unless others have to be answered first.
    #[inline]
    fn answer<S: StoreStats>(
        &mut self,
        first: usize,
        session: &mut Session,
        resp: &Resp<S>,
    ) -> Result<NextAction, MustWait> {
        let bytes = &self.input[..self.filled];
        let positions = &self.arguments[first..];
        let arguments = Arguments { bytes, positions };
        let command = Command::named(arguments.name());
        let error = match command {
            _ if !session.is_authenticated => None,
            Some(Command::Throttle) if self.checks.is_empty() => {
                match self.throttles.add(arguments) {
                    Ok(()) => {
                        self.arguments.truncate(first);
                        return Ok(NextAction::Continue);
                    }
                    Err(error) => Some(error.to_string()),
                }
            }
            Some(Command::Check) if self.throttles.is_empty() && arguments.len() > 2 => {
                match self.checks.add(first, arguments) {
                    Ok(()) => return Ok(NextAction::Continue),
                    Err(error) => Some(error.to_string()),
                }
            }
            Some(Command::Throttle) => return Err(MustWait),
            Some(Command::Check) if !self.throttles.is_empty() => {
                // Answered again after those before it.
                return if self.flush(resp) {
                    self.answer(first, session, resp)
                } else {
                    Err(MustWait)
                };
            }
            _ => None,
        };
        // The command is answered at once, so that those before it have to be answered first.
        if !self.flush(resp) {
            return Err(MustWait);
        }
        let next = match error {
            Some(error) => {
                resp.context.metrics.resp().invalid(command == Some(Command::Throttle));
                self.replies.error(error);
                NextAction::Continue
            }
            None => self.run_command(command, first, session, resp),
        };
        self.arguments.truncate(first);
        Ok(next)
    }

    /// Answers an unknown command, or one that checks no limit.
    fn run_command<S: StoreStats>(
        &mut self,
        command: Option<Command>,
        first: usize,
        session: &mut Session,
        resp: &Resp<S>,
    ) -> NextAction {
        let metrics = resp.context.metrics.resp();
        let bytes = &self.input[..self.filled];
        let positions = &self.arguments[first..];
        let arguments = Arguments { bytes, positions };
        let replies = &mut self.replies;
        let Some(command) = command else {
            metrics.unknown();
            let error = session::unknown(arguments, replies).err();
            if let Some(error) = error {
                self.refuse(error, resp);
            }
            return if error.is_some() { NextAction::Close } else { NextAction::Continue };
        };
        metrics.other();
        if !session.is_authenticated && !command.is_allowed_without_auth() {
            Session::demand_password(replies);
            return NextAction::Continue;
        }
        session.answer(command, arguments, resp, replies)
    }

    /// Replies with a protocol error, and closes: the rest cannot be parsed either.
    fn refuse<S: StoreStats>(&mut self, error: ProtocolError, resp: &Resp<S>) -> NextStep {
        resp.context.metrics.resp().protocol_error();
        self.replies.error(error);
        NextStep::Close
    }

    /// Decides queued commands without waiting; returns whether none is left.
    fn flush<S: StoreStats>(&mut self, resp: &Resp<S>) -> bool {
        if !self.throttles.is_empty() {
            let (limiter, metrics) = (resp.context.gate.limiter(), &resp.context.metrics);
            let bytes = &self.input[..self.filled];
            self.throttles.decide_now(limiter, metrics, bytes, &mut self.replies);
        }
        self.throttles.is_empty() && self.checks.is_empty()
    }
}

/// The commands before this one have to wait for the store first.
struct MustWait;

//! Runs the connections on their threads, and shows how far they are.

use std::io::{IsTerminal, stderr};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sluicegate::Per;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use super::decided_by::DecidedBy;
use super::http::Http;
use super::keys::Keys;
use super::pace::Pace;
use super::resp::Resp;
use super::tally::Tally;
use super::{grpc, stream};
use crate::args::{BenchArgs, Spoken};
use crate::output;

/// How often it is shown how far it is.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// What one connection goes by, and what came of it.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) pace: Pace,
    pub(super) keys: Keys,
    pub(super) pipeline: u32,
    pub(super) tally: Tally,
    /// Answers of all connections.
    answers: Arc<AtomicU64>,
    told: u64,
}

impl Course {
    /// Tells whoever shows how far it is.
    pub(super) fn counted(&mut self) {
        let answers = self.tally.answers();
        self.answers.fetch_add(answers - self.told, Ordering::Relaxed);
        self.told = answers;
    }
}

/// What every connection speaks.
#[derive(Debug)]
enum Speaker {
    Http(Http),
    Resp(Resp),
    Grpc { domain: String },
}

impl Speaker {
    fn of(args: &BenchArgs, address: SocketAddr) -> Result<Self> {
        Ok(match args.protocol {
            Spoken::Http => Self::Http(Http::new(address, args)),
            Spoken::Grpc => Self::Grpc { domain: args.domain.clone() },
            Spoken::Resp => match args.quota.per() {
                Per::Span(period) if period.as_secs_ceil() * 1_000_000 == period.as_micros() => {
                    Self::Resp(Resp::new(&args.quota, period))
                }
                _ => bail!(
                    "CL.THROTTLE cannot say {}: its periods are whole seconds\n\
                     hint: use --quota with one, as in 100/min",
                    args.quota
                ),
            },
        })
    }

    async fn converse(&self, address: SocketAddr, course: Course) -> Course {
        match self {
            Self::Http(http) => stream::converse(address, http, course).await,
            Self::Resp(resp) => stream::converse(address, resp, course).await,
            Self::Grpc { domain } => grpc::converse(address, domain, course).await,
        }
    }
}

/// Asks from all connections for as long as was typed.
pub(super) fn drive(args: &BenchArgs, address: SocketAddr) -> Result<Tally> {
    let speaker = Arc::new(Speaker::of(args, address)?);
    // Whoever cannot be reached is not asked from a hundred connections.
    std::net::TcpStream::connect_timeout(&address, Duration::from_secs(5)).with_context(|| {
        format!("cannot reach {address}; start `sluicegate serve`, or say where with --address")
    })?;
    let counted = || match args.protocol {
        Spoken::Resp => DecidedBy::from_info(address).ok().flatten(),
        Spoken::Http | Spoken::Grpc => Some(DecidedBy::default()),
    };
    let before = counted();
    let answers = Arc::new(AtomicU64::new(0));
    let start = Instant::now() + Pace::lead(args.rate, args.connections);
    let end = start + args.duration;
    let (done, ended) = channel();
    for thread in 0..u32::from(args.threads) {
        let courses: Vec<Course> = (0..args.connections)
            .filter(|connection| connection % u32::from(args.threads) == thread)
            .map(|connection| Course {
                pace: Pace::new(
                    args.rate,
                    (connection, args.connections),
                    args.pipeline,
                    start,
                    end,
                ),
                keys: Keys::new(args.keys, args.zipf, connection.into()),
                pipeline: args.pipeline,
                tally: Tally::new(),
                answers: Arc::clone(&answers),
                told: 0,
            })
            .collect();
        let (speaker, done) = (Arc::clone(&speaker), done.clone());
        thread::Builder::new().name("asking".to_owned()).spawn(move || {
            // Whoever waits for it may have gone.
            let _ = done.send(ask(&speaker, address, courses));
        })?;
    }
    drop(done);
    let mut tally = Tally::new();
    let mut progress = Progress::new(start, args.duration);
    loop {
        match ended.recv_timeout(SHOWN_EVERY) {
            Ok(part) => tally.merge(part?),
            Err(RecvTimeoutError::Timeout) => progress.show(answers.load(Ordering::Relaxed)),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    progress.finish();
    tally.took = start.elapsed();
    // A server that does not count them, or wants a password, leaves it unknown.
    tally.by = match (tally.by, before, counted()) {
        (Some(mut by), Some(before), Some(after)) => {
            by.merge(after.since(before));
            Some(by)
        }
        _ => None,
    };
    Ok(tally)
}

/// Asks from the connections of one thread.
fn ask(speaker: &Arc<Speaker>, address: SocketAddr, courses: Vec<Course>) -> Result<Tally> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connections = JoinSet::new();
        for course in courses {
            let speaker = Arc::clone(speaker);
            connections.spawn(async move { speaker.converse(address, course).await });
        }
        let mut tally = Tally::new();
        while let Some(course) = connections.join_next().await {
            tally.merge(course.context("a connection's task has died")?.tally);
        }
        Ok(tally)
    })
}

/// The line that says how far it is, if somebody is looking.
struct Progress {
    start: Instant,
    duration: Duration,
    shown: bool,
    before: u64,
}

impl Progress {
    fn new(start: Instant, duration: Duration) -> Self {
        Self { start, duration, shown: false, before: 0 }
    }

    fn show(&mut self, answers: u64) {
        if !stderr().is_terminal() {
            return;
        }
        let (passed, all) = (self.start.elapsed().as_secs(), self.duration.as_secs());
        let latest = answers - self.before;
        output::complain(&format!("\r{passed} of {all} s, {latest} answers a second   "));
        (self.before, self.shown) = (answers, true);
    }

    fn finish(&self) {
        if self.shown {
            output::complain("\r                                                  \r");
        }
    }
}

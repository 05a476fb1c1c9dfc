//! The client threads with their connections, and the progress line.

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

use super::decided_by::DecisionSources;
use super::http::HttpCodec;
use super::keys::BenchKeys;
use super::pace::Pace;
use super::resp::RespCodec;
use super::tally::Tally;
use super::{grpc, pipelined};
use crate::args::{BenchArgs, BenchProtocol};
use crate::output;

/// The time between two updates of the progress line.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// The parameters and the results of one connection.
#[derive(Debug)]
pub(super) struct ConnectionRun {
    pub(super) pace: Pace,
    pub(super) keys: BenchKeys,
    pub(super) pipeline: u32,
    pub(super) tally: Tally,
    /// The number of answers on all connections.
    answers: Arc<AtomicU64>,
    /// The answers of this connection that `answers` includes.
    counted: u64,
}

impl ConnectionRun {
    /// Adds the new answers to the total of the progress line.
    pub(super) fn count_answers(&mut self) {
        let answers = self.tally.answers();
        self.answers.fetch_add(answers - self.counted, Ordering::Relaxed);
        self.counted = answers;
    }
}

/// The protocol of all connections.
#[derive(Debug)]
enum Client {
    Http(HttpCodec),
    Resp(RespCodec),
    Grpc { domain: String },
}

impl Client {
    fn of(args: &BenchArgs, address: SocketAddr) -> Result<Self> {
        Ok(match args.protocol {
            BenchProtocol::Http => Self::Http(HttpCodec::new(address, args)),
            BenchProtocol::Grpc => Self::Grpc { domain: args.domain.clone() },
            BenchProtocol::Resp => match args.quota.per() {
                Per::Span(period) if period.as_secs_ceil() * 1_000_000 == period.as_micros() => {
                    Self::Resp(RespCodec::new(&args.quota, period))
                }
                _ => bail!(
                    "CL.THROTTLE cannot express the quota {}: its periods are whole seconds\n\
                     hint: use --quota with a period in seconds, as in 100/min",
                    args.quota
                ),
            },
        })
    }

    async fn run_client(&self, address: SocketAddr, run: ConnectionRun) -> ConnectionRun {
        match self {
            Self::Http(http) => pipelined::run_connection(address, http, run).await,
            Self::Resp(resp) => pipelined::run_connection(address, resp, run).await,
            Self::Grpc { domain } => grpc::run_connection(address, domain, run).await,
        }
    }
}

/// Sends requests on all connections for the duration of the run.
pub(super) fn drive(args: &BenchArgs, address: SocketAddr) -> Result<Tally> {
    let client = Arc::new(Client::of(args, address)?);
    // One connection first, so that an unreachable server is one error instead of a hundred.
    std::net::TcpStream::connect_timeout(&address, Duration::from_secs(5)).with_context(|| {
        format!(
            "cannot reach {address}; start `sluicegate serve`, or give its address with --address"
        )
    })?;
    let read_deciders = || match args.protocol {
        BenchProtocol::Resp => DecisionSources::from_info(address).ok().flatten(),
        BenchProtocol::Http | BenchProtocol::Grpc => Some(DecisionSources::default()),
    };
    let before = read_deciders();
    let answers = Arc::new(AtomicU64::new(0));
    let start = Instant::now() + Pace::lead_time(args.rate, args.connections);
    let end = start + args.duration;
    let (done, ended) = channel();
    for thread in 0..u32::from(args.threads) {
        let runs: Vec<ConnectionRun> = (0..args.connections)
            .filter(|connection| connection % u32::from(args.threads) == thread)
            .map(|connection| ConnectionRun {
                pace: Pace::new(
                    args.rate,
                    (connection, args.connections),
                    args.pipeline,
                    start,
                    end,
                ),
                keys: BenchKeys::new(args.keys, args.zipf, connection.into()),
                pipeline: args.pipeline,
                tally: Tally::new(),
                answers: Arc::clone(&answers),
                counted: 0,
            })
            .collect();
        let (client, done) = (Arc::clone(&client), done.clone());
        thread::Builder::new().name("bench".to_owned()).spawn(move || {
            // Fails only if another thread has failed and ended the run.
            let _ = done.send(run_connections(&client, address, runs));
        })?;
    }
    drop(done);
    let mut tally = Tally::new();
    let mut progress = RunProgress::new(start, args.duration);
    loop {
        match ended.recv_timeout(PROGRESS_EVERY) {
            Ok(part) => tally.merge(part?),
            Err(RecvTimeoutError::Timeout) => progress.show(answers.load(Ordering::Relaxed)),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    progress.finish();
    tally.took = start.elapsed();
    // Unknown if the server has no such counters, or requires a password.
    tally.by = match (tally.by, before, read_deciders()) {
        (Some(mut by), Some(before), Some(after)) => {
            by.merge(after.since(before));
            Some(by)
        }
        _ => None,
    };
    Ok(tally)
}

/// Runs the connections of one thread.
fn run_connections(
    client: &Arc<Client>,
    address: SocketAddr,
    runs: Vec<ConnectionRun>,
) -> Result<Tally> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connections = JoinSet::new();
        for run in runs {
            let client = Arc::clone(client);
            connections.spawn(async move { client.run_client(address, run).await });
        }
        let mut tally = Tally::new();
        while let Some(run) = connections.join_next().await {
            tally.merge(run.context("the task of a connection panicked")?.tally);
        }
        Ok(tally)
    })
}

/// The progress line on standard error, if that is a terminal.
struct RunProgress {
    start: Instant,
    duration: Duration,
    shown: bool,
    before: u64,
}

impl RunProgress {
    fn new(start: Instant, duration: Duration) -> Self {
        Self { start, duration, shown: false, before: 0 }
    }

    fn show(&mut self, answers: u64) {
        if !stderr().is_terminal() {
            return;
        }
        let (passed, all) = (self.start.elapsed().as_secs(), self.duration.as_secs());
        let latest = answers - self.before;
        output::print_error(&format!("\r{passed} of {all} s, {latest} answers a second   "));
        (self.before, self.shown) = (answers, true);
    }

    fn finish(&self) {
        if self.shown {
            output::print_error("\r                                                  \r");
        }
    }
}

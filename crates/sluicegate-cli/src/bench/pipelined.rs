//! A connection with pipelined requests.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::decided_by::DecisionSources;
use super::driver::ConnectionRun;
use super::tally::CallOutcome;

/// The encoding of requests and the parsing of answers.
pub(super) trait Codec {
    /// Encodes the request of a caller.
    fn encode(&self, key: u64, out: &mut Vec<u8>);

    /// Parses the first answer. Returns its length and outcome, or `None` if it is incomplete.
    fn decode(&self, bytes: &[u8]) -> Result<Option<(usize, CallOutcome)>, InvalidAnswer>;

    /// Counts the decisions in an answer that the store did not make.
    fn count_deciders(&self, _answer: &[u8], _by: &mut DecisionSources) {}
}

/// An invalid answer, with a description for the error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InvalidAnswer(pub(super) &'static str);

/// Sends requests on one connection until the run ends.
pub(super) async fn run_connection(
    address: SocketAddr,
    codec: &impl Codec,
    mut run: ConnectionRun,
) -> ConnectionRun {
    match exchange(address, codec, &mut run).await {
        Ok(()) => {}
        Err(error) => run.tally.fail(|| error.to_string()),
    }
    run
}

async fn exchange(
    address: SocketAddr,
    codec: &impl Codec,
    run: &mut ConnectionRun,
) -> io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut out, mut read) = (Vec::new(), Vec::with_capacity(64 * 1_024));
    while let Some(turn) = run.pace.next().await? {
        out.clear();
        for _ in 0..run.pipeline {
            codec.encode(run.keys.next(), &mut out);
        }
        run.tally.sent(turn.began, run.pipeline, || turn.due.elapsed());
        stream.write_all(&out).await?;
        let mut left = run.pipeline;
        while left > 0 {
            if stream.read_buf(&mut read).await? == 0 {
                return Err(io::Error::other("the server closed the connection"));
            }
            let wait = Instant::now().saturating_duration_since(turn.due);
            let mut done = 0;
            while left > 0 {
                let rest = read.get(done..).unwrap_or_default();
                match codec.decode(rest) {
                    Ok(Some((length, outcome))) => {
                        run.tally.add(outcome, wait);
                        let answer = rest.get(..length).unwrap_or_default();
                        if let Some(by) = &mut run.tally.by {
                            codec.count_deciders(answer, by);
                        }
                        (done, left) = (done + length, left - 1);
                    }
                    Ok(None) => break,
                    Err(InvalidAnswer(found)) => {
                        let text = format!("the server answered {found}");
                        return Err(io::Error::other(text));
                    }
                }
            }
            read.drain(..done);
        }
        run.count_answers();
    }
    Ok(())
}

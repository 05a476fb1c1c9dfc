//! A connection on which requests follow one another, several at a time.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::decided_by::DecidedBy;
use super::driver::Course;
use super::tally::Outcome;

/// How requests and answers are written.
pub(super) trait Dialect {
    /// Writes the request of a caller.
    fn ask(&self, key: u64, out: &mut Vec<u8>);

    /// The first answer and where it ends, if it is all there.
    fn answer(&self, bytes: &[u8]) -> Result<Option<(usize, Outcome)>, Unreadable>;

    /// Counts the decisions of an answer that were made without the store, if it says so.
    fn count_deciders(&self, _answer: &[u8], _by: &mut DecidedBy) {}
}

/// What was found instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) &'static str);

/// Asks over one connection until it is over.
pub(super) async fn converse(
    address: SocketAddr,
    dialect: &impl Dialect,
    mut course: Course,
) -> Course {
    match asking(address, dialect, &mut course).await {
        Ok(()) => {}
        Err(error) => course.tally.complain(|| error.to_string()),
    }
    course
}

async fn asking(
    address: SocketAddr,
    dialect: &impl Dialect,
    course: &mut Course,
) -> io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut out, mut read) = (Vec::new(), Vec::with_capacity(64 * 1_024));
    while let Some(turn) = course.pace.next().await? {
        out.clear();
        for _ in 0..course.pipeline {
            dialect.ask(course.keys.draw(), &mut out);
        }
        course.tally.sent(turn.began, course.pipeline, || turn.due.elapsed());
        stream.write_all(&out).await?;
        let mut left = course.pipeline;
        while left > 0 {
            if stream.read_buf(&mut read).await? == 0 {
                return Err(io::Error::other("the server closed the connection"));
            }
            let wait = Instant::now().saturating_duration_since(turn.due);
            let mut done = 0;
            while left > 0 {
                let rest = read.get(done..).unwrap_or_default();
                match dialect.answer(rest) {
                    Ok(Some((length, outcome))) => {
                        course.tally.add(outcome, wait);
                        let answer = rest.get(..length).unwrap_or_default();
                        if let Some(by) = &mut course.tally.by {
                            dialect.count_deciders(answer, by);
                        }
                        (done, left) = (done + length, left - 1);
                    }
                    Ok(None) => break,
                    Err(Unreadable(found)) => {
                        let text = format!("the server answered {found}");
                        return Err(io::Error::other(text));
                    }
                }
            }
            read.drain(..done);
        }
        course.counted();
    }
    Ok(())
}

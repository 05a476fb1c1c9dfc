//! One connection through a proxy: both directions, and what becomes of each reply.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::counts::{Counters, count};
use super::switches::{ConnectionId, Mode, Switches};
use crate::frames::{Frame, Frames};

/// How long a connection that was lost stays open: long enough for its client to send more.
const MOMENT: Duration = Duration::from_millis(50);

/// How many pieces are under way, at most, before no more are read.
const UNDER_WAY: usize = 1024;

/// Bytes under way, and since when.
struct Piece {
    frame: Frame,
    arrived: Instant,
}

/// What becomes of a reply.
enum Fate {
    Delivered,
    /// It alone is missing.
    CutOut,
    /// And the connection with it.
    Lost,
}

/// What a connection needs to know.
pub(super) struct Relay {
    pub(super) id: ConnectionId,
    pub(super) switches: watch::Receiver<Switches>,
    pub(super) counters: Arc<Counters>,
}

impl Relay {
    /// Carries bytes until one side closes, or this is dropped; then both sides are closed.
    pub(super) async fn run(self, client: TcpStream, upstream: SocketAddr) {
        self.while_silent().await;
        let Ok(server) = TcpStream::connect(upstream).await else { return };
        // Bytes go on as they come, as if nothing stood in between.
        let _ = client.set_nodelay(true);
        let _ = server.set_nodelay(true);
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        tokio::select! {
            () = self.requests(from_client, to_server) => {}
            () = self.replies(from_server, to_client) => {}
        }
    }

    async fn requests(&self, mut client: OwnedReadHalf, mut server: OwnedWriteHalf) {
        let (pieces, mut under_way) = mpsc::channel(UNDER_WAY);
        let read = async move {
            let mut buffer = vec![0; 16 * 1024];
            while let Some(bytes) = read_some(&mut client, &mut buffer).await {
                let piece = Piece { frame: Frame::Push(bytes.to_vec()), arrived: Instant::now() };
                let _ = pieces.send(piece).await;
            }
        };
        let write = async {
            while let Some(Piece { frame: Frame::Push(bytes) | Frame::Reply(bytes), arrived }) =
                under_way.recv().await
            {
                self.hold(arrived).await;
                if server.write_all(&bytes).await.is_err() {
                    return;
                }
                count(&self.counters.bytes_to_server, bytes.len());
            }
        };
        until_written(read, write).await;
    }

    async fn replies(&self, mut server: OwnedReadHalf, mut client: OwnedWriteHalf) {
        let (pieces, mut under_way) = mpsc::channel(UNDER_WAY);
        let read = async move {
            let mut buffer = vec![0; 16 * 1024];
            let mut frames = Frames::default();
            while let Some(bytes) = read_some(&mut server, &mut buffer).await {
                frames.collect(bytes);
                while let Some(frame) = frames.next() {
                    let _ = pieces.send(Piece { frame, arrived: Instant::now() }).await;
                }
            }
        };
        let write = async {
            let mut reply = 0;
            while let Some(Piece { frame, arrived }) = under_way.recv().await {
                self.hold(arrived).await;
                let bytes = match frame {
                    Frame::Push(bytes) => bytes,
                    Frame::Reply(bytes) => {
                        reply += 1;
                        match self.fate(reply) {
                            Fate::Delivered => count(&self.counters.replies, 1),
                            Fate::CutOut => continue,
                            Fate::Lost => return sleep(MOMENT).await,
                        }
                        bytes
                    }
                };
                if client.write_all(&bytes).await.is_err() {
                    return;
                }
                count(&self.counters.bytes_to_clients, bytes.len());
            }
        };
        until_written(read, write).await;
    }

    /// What becomes of a reply that is to be delivered now.
    fn fate(&self, reply: u64) -> Fate {
        let (chance, fate) = match self.switches.borrow().mode {
            Mode::SwallowReplies(chance) => (chance, Fate::CutOut),
            Mode::DropReplies(chance) => (chance, Fate::Lost),
            _ => return Fate::Delivered,
        };
        if !chance.falls_on(self.id.0, reply) {
            return Fate::Delivered;
        }
        count(&self.counters.replies_dropped, 1);
        fate
    }

    /// Keeps a piece until it may go on: its delay is over, and the connection is not silent.
    async fn hold(&self, arrived: Instant) {
        let delay = self.switches.borrow().delay;
        if !delay.is_zero() {
            sleep_until(arrived + delay).await;
        }
        self.while_silent().await;
    }

    async fn while_silent(&self) {
        // It fails when the proxy has ended, and this connection with it.
        let passes = |switches: &Switches| !switches.mode.silences(self.id);
        let _ = self.switches.clone().wait_for(passes).await;
    }
}

/// The next bytes, unless the other side has closed.
async fn read_some<'a>(from: &mut OwnedReadHalf, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    match from.read(buffer).await {
        Ok(length) if length > 0 => buffer.get(..length),
        _ => None,
    }
}

/// Ends with the writing: what was read before the other side closed is still delivered.
async fn until_written(read: impl Future<Output = ()>, write: impl Future<Output = ()>) {
    let read = async {
        read.await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = read => {}
        () = write => {}
    }
}

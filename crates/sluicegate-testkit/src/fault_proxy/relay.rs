//! One connection through a proxy: both directions, and the faults of each reply.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::counts::{Counters, count};
use super::faults::{ConnectionId, FaultMode, Faults};
use crate::resp::framing::{Frame, Frames};

/// How long a lost connection stays open: long enough for its client to send more.
const MOMENT: Duration = Duration::from_millis(50);

/// The most pieces in flight before no more are read.
const UNDER_WAY: usize = 1024;

/// Bytes in flight, and since when.
struct Piece {
    frame: Frame,
    arrived: Instant,
}

/// The fault of a reply.
enum ReplyAction {
    Delivered,
    /// The reply is missing.
    CutOut,
    /// The reply is missing and the connection is lost.
    Lost,
}

/// The settings of a connection.
pub(super) struct Relay {
    pub(super) id: ConnectionId,
    pub(super) switches: watch::Receiver<Faults>,
    pub(super) counters: Arc<Counters>,
}

impl Relay {
    /// Relays bytes until one side closes, or this is dropped; then both sides are closed.
    pub(super) async fn run(self, client: TcpStream, upstream: SocketAddr) {
        self.wait_until_forwarding().await;
        let Ok(server) = TcpStream::connect(upstream).await else { return };
        // Without delay, so that the proxy has no effect on timing.
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
                            ReplyAction::Delivered => count(&self.counters.replies, 1),
                            ReplyAction::CutOut => continue,
                            ReplyAction::Lost => return sleep(MOMENT).await,
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

    /// The fault of a reply that is due now.
    fn fate(&self, reply: u64) -> ReplyAction {
        let (chance, fate) = match self.switches.borrow().mode {
            FaultMode::SwallowReplies(chance) => (chance, ReplyAction::CutOut),
            FaultMode::DropReplies(chance) => (chance, ReplyAction::Lost),
            _ => return ReplyAction::Delivered,
        };
        if !chance.falls_on(self.id.0, reply) {
            return ReplyAction::Delivered;
        }
        count(&self.counters.replies_dropped, 1);
        fate
    }

    /// Keeps a piece until it may be sent: its delay is over, and the connection is not silent.
    async fn hold(&self, arrived: Instant) {
        let delay = self.switches.borrow().delay;
        if !delay.is_zero() {
            sleep_until(arrived + delay).await;
        }
        self.wait_until_forwarding().await;
    }

    async fn wait_until_forwarding(&self) {
        // Fails when the proxy has ended, and this connection with it.
        let passes = |switches: &Faults| !switches.mode.silences(self.id);
        let _ = self.switches.clone().wait_for(passes).await;
    }
}

/// The next bytes, or none if the other side has closed.
async fn read_some<'a>(from: &mut OwnedReadHalf, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    match from.read(buffer).await {
        Ok(length) if length > 0 => buffer.get(..length),
        _ => None,
    }
}

/// Ends after writing: bytes that were read before the other side closed are still delivered.
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

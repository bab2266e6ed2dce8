//! Limits on connections, before any token is known, and the listener that applies them.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::serve::Listener;
use foldhash::fast::RandomState;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tracing::{error, warn};

use crate::connections::LocalAddress;

/// The time between two log lines about the same kind of failure.
const QUIET: Duration = Duration::from_secs(10);
/// The pause after a failed accept: probably there are no file descriptors left.
const PAUSE: Duration = Duration::from_millis(100);
/// The time to write a refusal.
const REFUSAL_TIME: Duration = Duration::from_millis(100);
/// The answer to a connection beyond the limit.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n\
    Retry-After: 1\r\nConnection: close\r\nContent-Length: 148\r\n\r\n\
    {\"title\":\"Overloaded\",\"status\":503,\"code\":\"overloaded\",\"success\":false,\
    \"detail\":\"Too many open connections. Close some, or retry later\",\"errors\":[]}";

/// The connections that may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    pub all: usize,
    pub of_address: usize,
}

/// The open connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionSlots(Arc<Mutex<OpenConnections>>);

#[derive(Debug, Default)]
struct OpenConnections {
    all: usize,
    by_address: HashMap<IpAddr, usize, RandomState>,
}

impl ConnectionSlots {
    /// A slot for a connection; none if there are too many.
    pub fn take(&self, from: IpAddr, limits: ConnectionLimits) -> Option<ConnectionSlot> {
        let from = from.to_canonical();
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_address = open.by_address.get(&from).copied().unwrap_or(0);
        if open.all >= limits.all || of_address >= limits.of_address {
            return None;
        }
        open.all += 1;
        *open.by_address.entry(from).or_default() += 1;
        Some(ConnectionSlot { slots: self.clone(), from })
    }

    pub fn open(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all
    }
}

/// The slot of one open connection.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    slots: ConnectionSlots,
    from: IpAddr,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut open = self.slots.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.all = open.all.saturating_sub(1);
        if let Some(count) = open.by_address.get_mut(&self.from) {
            *count -= 1;
            if *count == 0 {
                open.by_address.remove(&self.from);
            }
        }
    }
}

/// A failure that is logged at most once in [`QUIET`], with the number of times it happened.
#[derive(Debug, Default)]
struct RepeatedFailure {
    logged: Option<Instant>,
    unlogged: u64,
}

impl RepeatedFailure {
    /// Counts it. Returns the number of times since the last log line, if it is time for one.
    fn count(&mut self, now: Instant) -> Option<u64> {
        self.unlogged += 1;
        if self.logged.is_some_and(|it| now.duration_since(it) < QUIET) {
            return None;
        }
        self.logged = Some(now);
        Some(std::mem::take(&mut self.unlogged))
    }
}

/// Returns the limits in force.
pub(crate) type LimitsNow = Arc<dyn Fn() -> ConnectionLimits + Send + Sync>;

/// A listener that refuses connections beyond the limits and survives failures.
pub(crate) struct LimitedListener {
    listener: TcpListener,
    slots: ConnectionSlots,
    limits: LimitsNow,
    /// Whether a refusal can be written: not before a TLS handshake.
    plain: bool,
    failures: RepeatedFailure,
    refusals: RepeatedFailure,
}

impl LimitedListener {
    pub fn new(listener: TcpListener, slots: ConnectionSlots, limits: LimitsNow, plain: bool) -> Self {
        let (failures, refusals) = (RepeatedFailure::default(), RepeatedFailure::default());
        Self { listener, slots, limits, plain, failures, refusals }
    }

    async fn refuse(&mut self, mut stream: TcpStream, from: SocketAddr, limits: ConnectionLimits) {
        if let Some(refused) = self.refusals.count(Instant::now()) {
            let open = self.slots.open();
            warn!(refused, open, %from, all = limits.all, address = limits.of_address, "too many connections");
        }
        if self.plain {
            tokio::time::timeout(REFUSAL_TIME, stream.write_all(REFUSAL)).await.ok();
        }
    }
}

impl Listener for LimitedListener {
    type Io = SlottedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (SlottedStream, SocketAddr) {
        loop {
            let (stream, from) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) if is_of_peer(&error) => continue,
                Err(error) => {
                    if let Some(failures) = self.failures.count(Instant::now()) {
                        let open = self.slots.open();
                        error!(%error, failures, open, "connections cannot be accepted");
                    }
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let limits = (self.limits)();
            match self.slots.take(from.ip(), limits) {
                Some(slot) => {
                    // Small events must not wait for the acknowledgement of earlier ones.
                    stream.set_nodelay(true).ok();
                    return (SlottedStream { stream, _slot: slot }, from);
                }
                None => self.refuse(stream, from, limits).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Whether the peer gave up before the connection was accepted.
fn is_of_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// A connection with its slot, which is free again when it ends.
#[derive(Debug)]
pub(crate) struct SlottedStream {
    stream: TcpStream,
    _slot: ConnectionSlot,
}

impl LocalAddress for SlottedStream {
    fn local(&self) -> Option<SocketAddr> {
        self.stream.local_addr().ok()
    }
}

impl AsyncRead for SlottedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for SlottedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_limited_in_all_and_per_address() {
        let (slots, limits) = (ConnectionSlots::default(), ConnectionLimits { all: 3, of_address: 2 });
        let take = |from: &str| slots.take(from.parse().unwrap(), limits);
        let (one, two) = (take("192.0.2.1").unwrap(), take("::ffff:192.0.2.1").unwrap());
        assert!(take("192.0.2.1").is_none(), "two of this address are open");
        let other = take("192.0.2.2").unwrap();
        assert!(take("192.0.2.3").is_none(), "three are open");
        drop((one, two));
        assert!(take("192.0.2.1").is_some());
        drop(other);
        assert_eq!(slots.open(), 0);
        assert!(slots.0.lock().unwrap().by_address.is_empty());
    }

    #[test]
    fn a_repeated_failure_is_logged_now_and_then_with_its_count() {
        let (mut failure, now) = (RepeatedFailure::default(), Instant::now());
        assert_eq!(failure.count(now), Some(1));
        assert!((0..50).all(|_| failure.count(now).is_none()));
        assert_eq!(failure.count(now + QUIET), Some(51));
    }

    #[test]
    fn the_refusal_has_the_stated_length() {
        let text = std::str::from_utf8(REFUSAL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(format!("Content-Length: {}\r\n", body.len()).trim_end()), "{}", body.len());
        serde_json::from_str::<serde_json::Value>(body).unwrap();
    }
}

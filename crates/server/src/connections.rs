//! Connections, with a time limit on everything that a peer does.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::serve::Listener;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_rustls::server::TlsStream;
use tower::ServiceExt as _;

/// The buffer of a connection: the most that the head of a request may take, before any token is known.
const BUFFER: usize = 32 * 1024;

/// Accepts connections until `stop`, then lets open requests finish.
///
/// A connection is closed if no complete request arrives within `patience`, or if the peer reads nothing for that
/// long.
pub(crate) async fn answer<L>(
    mut listener: L,
    router: Router,
    patience: impl Fn() -> Duration,
    stop: impl Future<Output = ()>,
) where
    L: Listener<Addr = SocketAddr>,
    L::Io: LocalAddress,
{
    let (ending, _) = watch::channel(false);
    let (mut stop, mut open) = (pin!(stop), JoinSet::new());
    loop {
        let (stream, from) = tokio::select! {
            accepted = listener.accept() => accepted,
            // Drops finished connections.
            Some(_) = open.join_next() => continue,
            () = &mut stop => break,
        };
        let (router, ends, patience) = (router.clone(), ending.subscribe(), patience());
        let addresses = ConnectionEnds { peer: Peer(Some(from.ip())), called: CalledAddress(stream.local()) };
        open.spawn(one(TokioIo::new(Impatient::new(stream, patience)), addresses, router, patience, ends));
    }
    drop(listener);
    ending.send(true).ok();
    while open.join_next().await.is_some() {}
}

async fn one(
    stream: TokioIo<Impatient<impl AsyncRead + AsyncWrite + Unpin + Send + 'static>>,
    addresses: ConnectionEnds,
    router: Router,
    patience: Duration,
    mut ends: watch::Receiver<bool>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (mut request, router) = (request.map(Body::new), router.clone());
        request.extensions_mut().insert(addresses.peer);
        request.extensions_mut().insert(addresses.called);
        router.oneshot(request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(BUFFER);
    let mut connection = pin!(http.serve_connection(stream, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        _ = ends.wait_for(|it| *it) => None,
    };
    if ended.is_none() {
        connection.as_mut().graceful_shutdown();
        connection.await.ok();
    }
}

/// The address a request comes from, if known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub Option<IpAddr>);

impl<S: Sync> FromRequestParts<S> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or(Self(None)))
    }
}

/// The address at which the server received a request, if known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CalledAddress(pub Option<SocketAddr>);

impl<S: Sync> FromRequestParts<S> for CalledAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or(Self(None)))
    }
}

/// Both addresses of a connection.
#[derive(Clone, Copy)]
struct ConnectionEnds {
    peer: Peer,
    called: CalledAddress,
}

/// A stream that knows the server's own address of its connection.
pub(crate) trait LocalAddress {
    fn local(&self) -> Option<SocketAddr>;
}

impl<T: LocalAddress> LocalAddress for TlsStream<T> {
    fn local(&self) -> Option<SocketAddr> {
        self.get_ref().0.local()
    }
}

/// A stream that fails when the peer reads nothing for a while.
struct Impatient<T> {
    stream: T,
    patience: Duration,
    /// Since when written data is waiting.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<T> Impatient<T> {
    fn new(stream: T, patience: Duration) -> Self {
        Self { stream, patience, waits: None }
    }

    fn waited<R>(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if outcome.is_ready() {
            self.waits = None;
            return outcome;
        }
        let patience = self.patience;
        match self.waits.get_or_insert_with(|| Box::pin(sleep(patience))).as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Impatient<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Impatient<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.waited(cx, outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        self.waited(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.waited(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.waited(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// A body that must arrive before a deadline.
pub(crate) struct Timely {
    body: Body,
    until: Pin<Box<Sleep>>,
}

impl Timely {
    /// Adds a deadline for its body to a request.
    pub fn within(request: Request, until: Instant) -> Request {
        request.map(|body| Body::new(Self { body, until: Box::pin(sleep_until(until)) }))
    }
}

impl HttpBody for Timely {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        match self.until.as_mut().poll(cx) {
            Poll::Ready(()) => {
                Poll::Ready(Some(Err(axum::Error::new(io::Error::from(io::ErrorKind::TimedOut)))))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

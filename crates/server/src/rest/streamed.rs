//! Answers as JSON lines that are written while they are read: however long, little of them is held at a time.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde::Serialize;
use tokio::sync::mpsc;
use trackside_runtime::{Failure, ReadError};
use trackside_store::StoreError;

/// Bytes that are sent at once.
const PIECE: usize = 32 * 1024;

/// An answer whose lines are said by `write`, on a thread that may wait.
pub(super) fn answer(write: impl FnOnce(&mut Lines) -> Result<(), Ended> + Send + 'static) -> Response {
    let (lines, more) = mpsc::channel(8);
    tokio::task::spawn_blocking(move || {
        let mut out = Lines { to: lines, ready: Vec::new() };
        // Whoever is in the middle of it sees that it broke off, not a file that seems to be whole.
        if let Err(Ended::Broken(error)) = write(&mut out).and_then(|()| out.flush()) {
            out.to.blocking_send(Err(io::Error::other(error))).ok();
        }
    });
    let kind = [(header::CONTENT_TYPE, "application/jsonl")];
    (kind, Body::from_stream(Pieces(more))).into_response()
}

/// Why it goes no further.
pub(super) enum Ended {
    /// Nobody listens any more.
    Left,
    Broken(String),
}

impl From<ReadError> for Ended {
    fn from(error: ReadError) -> Self {
        Self::Broken(error.to_string())
    }
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        Self::Broken(error.to_string())
    }
}

impl From<Failure> for Ended {
    fn from(error: Failure) -> Self {
        Self::Broken(error.to_string())
    }
}

/// Lines on their way, some at a time.
pub(super) struct Lines {
    to: mpsc::Sender<io::Result<Bytes>>,
    ready: Vec<u8>,
}

impl Lines {
    pub fn say(&mut self, line: &impl Serialize) -> Result<(), Ended> {
        serde_json::to_writer(&mut self.ready, line).map_err(|it| Ended::Broken(it.to_string()))?;
        self.ready.push(b'\n');
        if self.ready.len() > PIECE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Ended> {
        let piece = Bytes::from(std::mem::take(&mut self.ready));
        self.to.blocking_send(Ok(piece)).map_err(|_| Ended::Left)
    }
}

struct Pieces(mpsc::Receiver<io::Result<Bytes>>);

impl Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}

//! Answers as JSON lines, streamed while they are produced, so that memory use stays small.

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

/// Bytes per chunk.
const PIECE: usize = 32 * 1024;

/// An answer whose lines `write` produces on a blocking thread.
pub(super) fn answer(
    write: impl FnOnce(&mut JsonLines) -> Result<(), StreamEnd> + Send + 'static,
) -> Response {
    let (lines, more) = mpsc::channel(8);
    tokio::task::spawn_blocking(move || {
        let mut out = JsonLines { to: lines, ready: Vec::new() };
        // Breaks the connection, so that the client does not take the part for the whole.
        if let Err(StreamEnd::Broken(error)) = write(&mut out).and_then(|()| out.flush()) {
            out.to.blocking_send(Err(io::Error::other(error))).ok();
        }
    });
    let kind = [(header::CONTENT_TYPE, "application/jsonl")];
    (kind, Body::from_stream(Pieces(more))).into_response()
}

/// Why a stream ends early.
pub(super) enum StreamEnd {
    /// The client disconnected.
    Left,
    Broken(String),
}

impl From<ReadError> for StreamEnd {
    fn from(error: ReadError) -> Self {
        Self::Broken(error.to_string())
    }
}

impl From<StoreError> for StreamEnd {
    fn from(error: StoreError) -> Self {
        Self::Broken(error.to_string())
    }
}

impl From<Failure> for StreamEnd {
    fn from(error: Failure) -> Self {
        Self::Broken(error.to_string())
    }
}

/// Buffers lines into chunks.
pub(super) struct JsonLines {
    to: mpsc::Sender<io::Result<Bytes>>,
    ready: Vec<u8>,
}

impl JsonLines {
    pub fn say(&mut self, line: &impl Serialize) -> Result<(), StreamEnd> {
        serde_json::to_writer(&mut self.ready, line).map_err(|it| StreamEnd::Broken(it.to_string()))?;
        self.ready.push(b'\n');
        if self.ready.len() > PIECE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StreamEnd> {
        let piece = Bytes::from(std::mem::take(&mut self.ready));
        self.to.blocking_send(Ok(piece)).map_err(|_| StreamEnd::Left)
    }
}

struct Pieces(mpsc::Receiver<io::Result<Bytes>>);

impl Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}

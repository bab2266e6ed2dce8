//! Everything, as JSON lines: a line about it, the definitions, then the journal, then artifacts.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use trackside_protocol::Problem;
use trackside_runtime::read::entry_json;
use trackside_runtime::{Failure, ReadError};
use trackside_store::{Artifacts, StoreError, lines};

use crate::app::App;
use crate::auth::Caller;
use crate::events::Sight;
use crate::problem::Refused;

/// Exports the project as JSON lines. People with role admin get the records as they are kept, and artifacts; others
/// the entries that they may see, as the journal shows them.
#[utoipa::path(
    get, path = "/v1/export", tag = "journal", operation_id = "export",
    responses((status = 200, description = "One line about it, one per definition, one per entry, one per artifact.", body = String, content_type = "application/jsonl"),
        (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn export(State(app): State<App>, caller: Caller) -> Result<Response, Refused> {
    let (lines, more) = mpsc::channel(8);
    let sight = Sight::of(&app, &caller);
    let whole = caller.identity.is_admin();
    tokio::task::spawn_blocking(move || {
        let mut out = Lines { to: lines, ready: Vec::new() };
        // Whoever is in the middle of it sees that it broke off, not a file that seems to be whole.
        if let Err(Ended::Broken(error)) = write(&app, &sight, whole, &mut out) {
            out.to.blocking_send(Err(io::Error::other(error))).ok();
        }
    });
    let kind = [(header::CONTENT_TYPE, "application/jsonl")];
    Ok((kind, Body::from_stream(Pieces(more))).into_response())
}

/// Why it goes no further.
enum Ended {
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

fn write(app: &App, sight: &Sight, whole: bool, out: &mut Lines) -> Result<(), Ended> {
    let store = app.runtime.store();
    // What comes meanwhile is left out: it ends where it began to be read.
    let upto = app.reads.seq();
    let (mut reader, archive) = (store.reader()?, store.archive()?);
    out.say(&lines::about(app.reads.now(), upto, whole))?;
    for it in reader.definitions()? {
        out.say(&lines::definition(&it))?;
    }
    lines::each_record::<Ended>(reader.as_mut(), &archive, upto, &mut |record| match whole {
        true => out.say(&lines::record(record)),
        false if sight.sees(&app.reads, &record.entry()?)? => {
            out.say(&json!({ "entry": entry_json(record)? }))
        }
        false => Ok(()),
    })?;
    if whole {
        Artifacts::of(&app.options.data)
            .each::<Ended>(&mut |id, content| out.say(&lines::artifact(id, content)))?;
    }
    out.flush()
}

/// Lines on their way, some at a time.
struct Lines {
    to: mpsc::Sender<io::Result<Bytes>>,
    ready: Vec<u8>,
}

impl Lines {
    fn say(&mut self, line: &Value) -> Result<(), Ended> {
        self.ready.extend_from_slice(line.to_string().as_bytes());
        self.ready.push(b'\n');
        if self.ready.len() > 32 * 1024 { self.flush() } else { Ok(()) }
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

//! The baseline of the comparison: a bare axum handler that appends bytes to a file, waits for the disk
//! once for all waiting requests, and answers. It knows no caller and decides nothing.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use tokio::sync::oneshot;

/// Bytes appended for a request, and bytes of the answer's body.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandlerSizes {
    pub(super) appended: usize,
    pub(super) answered: usize,
}

#[derive(Clone)]
struct Appender {
    queue: Sender<oneshot::Sender<bool>>,
    answer: Bytes,
}

/// Serves until the process is killed. Writes its address into the file `address`.
pub(super) fn serve(file: &Path, address: &Path, sizes: HandlerSizes) -> std::io::Result<()> {
    let file = File::create_new(file)?;
    let (queue, waiting) = channel();
    std::thread::Builder::new()
        .name("appender".to_owned())
        .spawn(move || append_all(file, &waiting, sizes.appended))?;
    let answer = Bytes::from(format!("\"{}\"", "x".repeat(sizes.answered.saturating_sub(2))));
    tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("http").build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let temporary = address.with_extension("new");
        std::fs::write(&temporary, listener.local_addr()?.to_string())?;
        std::fs::rename(&temporary, address)?;
        axum::serve(listener, Router::new().fallback(handle).with_state(Appender { queue, answer })).await
    })
}

async fn handle(State(appender): State<Appender>, body: Bytes) -> Response {
    let (done, durable) = oneshot::channel();
    // A request without a body only asks whether the handler is up.
    if !body.is_empty() && (appender.queue.send(done).is_err() || durable.await != Ok(true)) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    ([(header::CONTENT_TYPE, "application/json")], appender.answer).into_response()
}

fn append_all(mut file: File, waiting: &Receiver<oneshot::Sender<bool>>, each: usize) {
    while let Ok(first) = waiting.recv() {
        let batch: Vec<_> = std::iter::once(first).chain(waiting.try_iter()).collect();
        let written = file.write_all(&vec![b'x'; batch.len() * each]).and_then(|()| file.sync_data());
        for done in batch {
            done.send(written.is_ok()).ok();
        }
    }
}

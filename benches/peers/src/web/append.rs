//! The control: a bare handler that appends bytes to a file, syncs once for all waiting requests, and
//! answers.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::oneshot;

use crate::BenchError;
use crate::control::file::PlainFile;
use crate::control::noise;

/// The approximate bytes of an answer's head.
pub(super) const HEAD: usize = 110;

/// The bytes that it appends for a request, and those that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendSizes {
    pub written: usize,
    pub answer: usize,
}

#[derive(Clone)]
struct HandlerState {
    to: Sender<oneshot::Sender<bool>>,
    answer: Bytes,
}

/// Serves until it is ended; where it listens is written into the file `address`.
pub fn serve(file: &Path, address: &Path, sizes: AppendSizes) -> Result<(), BenchError> {
    let appended = PlainFile::make(file)?;
    let (to, waiting) = channel();
    let writer = std::thread::Builder::new().name("appends".to_owned());
    writer.spawn(move || append(appended, &waiting, sizes.written)).map_err(BenchError::file(file))?;
    let counted = std::sync::atomic::AtomicUsize::new(0);
    let name = move || format!("http-{}", counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name_fn(name).build();
    runtime
        .map_err(BenchError::file(file))?
        .block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
            let beside = address.with_extension("new");
            std::fs::write(&beside, listener.local_addr()?.to_string())?;
            std::fs::rename(&beside, address)?;
            let state = HandlerState { to, answer: text(sizes.answer) };
            axum::serve(listener, Router::new().fallback(handle).with_state(state)).await
        })
        .map_err(BenchError::file(address))
}

async fn handle(State(state): State<HandlerState>, body: Bytes) -> Response {
    let (ticket, durable) = oneshot::channel();
    // A request with an empty body only checks that the server is there.
    let sent = body.is_empty() || state.to.send(ticket).is_ok() && durable.await == Ok(true);
    if !sent {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    ([(header::CONTENT_TYPE, "application/json")], state.answer).into_response()
}

/// Takes all waiting requests, writes once for all of them, and answers them.
fn append(mut file: PlainFile, waiting: &Receiver<oneshot::Sender<bool>>, each: usize) {
    let mut bytes = Vec::new();
    while let Ok(first) = waiting.recv() {
        let batch: Vec<_> = std::iter::once(first).chain(waiting.try_iter()).collect();
        if bytes.len() < batch.len() * each {
            bytes = noise(batch.len() * each);
        }
        let done = file.append(bytes.get(..batch.len() * each).unwrap_or_default()).is_ok();
        for ticket in batch {
            ticket.send(done).ok();
        }
    }
}

/// A text in JSON of this length.
fn text(bytes: usize) -> Bytes {
    Bytes::from(format!("\"{}\"", "x".repeat(bytes.saturating_sub(2))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::time::Duration;

    use crate::load::ClosedLoad;
    use crate::scratch::Scratch;
    use crate::subject::{CommandOutcome, LoadCommand};
    use crate::web::load::{HttpTarget, callers};
    use crate::web::wire::ConnectionReply;

    struct Posts(SocketAddr);

    impl HttpTarget for Posts {
        fn request(&self, _: LoadCommand, to: &mut Vec<u8>) {
            let request = format!("POST /any HTTP/1.1\r\nhost: {}\r\ncontent-length: 2\r\n\r\n{{}}", self.0);
            to.extend_from_slice(request.as_bytes());
        }

        fn classify_reply(&self, _: LoadCommand, reply: &ConnectionReply<'_>) -> CommandOutcome {
            if reply.status == 200 { CommandOutcome::Done } else { CommandOutcome::Failed }
        }
    }

    #[test]
    fn answered_requests_are_written_with_the_requested_size() {
        let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
        let (file, address) = (scratch.path().join("data"), scratch.path().join("address"));
        let (to, at) = (file.clone(), address.clone());
        // It serves until the tests end.
        std::thread::spawn(move || serve(&to, &at, AppendSizes { written: 300, answer: 200 }));
        let address: SocketAddr = loop {
            match std::fs::read_to_string(&address) {
                Ok(text) => break text.parse().unwrap(),
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let target: Arc<dyn HttpTarget> = Arc::new(Posts(address));
        let how = ClosedLoad { load: 0, callers: 4, threads: 2, time: Duration::from_millis(200) };
        let result = callers(address, &target, &how, &|_| ()).unwrap();
        assert!(result.asked > 0);
        assert_eq!(std::fs::metadata(&file).unwrap().len(), result.asked * 300);
        assert!(result.answer().abs_diff(200 + HEAD) < 8, "{}", result.answer());
    }
}

//! Large answers that are being sent: an actor whose connections read nothing holds only so much memory.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Frame, SizeHint};
use trackside_lifecycle::name::Name;
use trackside_protocol::ProblemCode;

use crate::problem::Refused;

/// Smaller answers are not counted.
const LARGE: u64 = 256 * 1024;
/// Most bytes of large answers of one actor. One answer may be larger.
const MOST: u64 = 64 * 1024 * 1024;
/// Bytes handed to a connection at a time.
const CHUNK: usize = 64 * 1024;

/// The bytes of large answers that are being sent, by actor.
#[derive(Clone, Debug, Default)]
pub(crate) struct LargeAnswers(Arc<Mutex<HashMap<Name, u64>>>);

impl LargeAnswers {
    /// Counts an answer until it is sent. Beyond the limit, the answer is a refusal.
    pub fn send(&self, actor: Option<&Name>, answer: Response) -> Response {
        let Some(size) = answer.body().size_hint().exact().filter(|it| *it >= LARGE) else { return answer };
        match self.reserve(actor.cloned().unwrap_or_else(|| Name::new("")), size) {
            Ok(held) => answer.map(|body| Body::new(HeldBody { body, rest: Bytes::new(), _held: held })),
            Err(refused) => refused.into_response(),
        }
    }

    fn reserve(&self, actor: Name, size: u64) -> Result<HeldBytes, Refused> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = all.get(&actor).copied().unwrap_or_default();
        if open > 0 && open.saturating_add(size) > MOST {
            let detail = format!(
                "Answers of {open} bytes are being sent to {actor}, and one of {size} bytes would exceed the {MOST} that \
                 may be open. Read the earlier answers first"
            );
            return Err(Refused::new(ProblemCode::RateLimited, detail));
        }
        all.insert(actor.clone(), open.saturating_add(size));
        Ok(HeldBytes { all: self.clone(), actor, size })
    }
}

/// The bytes of one answer.
#[derive(Debug)]
struct HeldBytes {
    all: LargeAnswers,
    actor: Name,
    size: u64,
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = all.get(&self.actor).map_or(0, |it| it.saturating_sub(self.size));
        match left {
            0 => drop(all.remove(&self.actor)),
            left => drop(all.insert(self.actor.clone(), left)),
        }
    }
}

/// A body that is handed on in chunks, so that it ends only when its reader has nearly all of it.
#[derive(Debug)]
struct HeldBody {
    body: Body,
    /// The rest of a frame.
    rest: Bytes,
    _held: HeldBytes,
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)).map(|it| it.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.rest = data,
                Some(Ok(Err(frame))) => return Poll::Ready(Some(Ok(frame))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let most = CHUNK.min(self.rest.len());
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(most)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        match self.body.size_hint().exact() {
            Some(more) => SizeHint::with_exact(more.saturating_add(rest)),
            None => self.body.size_hint(),
        }
    }
}

//! The request that is being answered: a task-local context, for request ids, logs and traces.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tracing::instrument::WithSubscriber as _;
use tracing::{Dispatch, Instrument as _, Span, dispatcher, info_span};
use trackside_lifecycle::name::Name;
use trackside_runtime::Stages;

tokio::task_local! {
    static CURRENT: Arc<RequestContext>;
}

/// The request that is being answered.
#[derive(Debug)]
pub(crate) struct RequestContext {
    /// Its request id.
    pub id: Option<Name>,
    /// The sender, once it is known.
    pub actor: OnceLock<Name>,
    /// The first internal failure.
    pub broke: OnceLock<String>,
    /// Disabled unless the request is traced.
    pub span: Span,
    /// Takes the events and spans of its server.
    pub dispatch: Dispatch,
}

impl Default for RequestContext {
    fn default() -> Self {
        let (actor, broke) = (OnceLock::new(), OnceLock::new());
        Self { id: None, actor, broke, span: Span::none(), dispatch: Dispatch::none() }
    }
}

impl RequestContext {
    /// Runs a future for this request.
    pub async fn during<T>(self: Arc<Self>, work: impl Future<Output = T>) -> T {
        let (span, dispatch) = (self.span.clone(), self.dispatch.clone());
        CURRENT.scope(self, work.instrument(span)).with_subscriber(dispatch).await
    }

    /// Runs blocking work for this request, on the current thread.
    pub fn on_this_thread<T>(self: Arc<Self>, work: impl FnOnce() -> T) -> T {
        let (span, dispatch) = (self.span.clone(), self.dispatch.clone());
        dispatcher::with_default(&dispatch, || span.in_scope(|| CURRENT.sync_scope(self, work)))
    }

    /// Records the time that a command waited, was decided and was committed, as spans.
    pub fn record_stages(&self, lifecycle: Option<&str>, stages: &Stages) {
        let (taken, decided, answered) =
            (stages.taken_after(), stages.decided_after(), stages.answered_after());
        let parts = [
            ("wait", Some(Duration::ZERO), taken),
            ("decide", taken, decided),
            ("commit", decided, answered),
        ];
        let begun = SystemTime::now() - stages.started_at().elapsed();
        let begun = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = |it: Duration| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX);
        dispatcher::with_default(&self.dispatch, || {
            for (name, from, to) in parts {
                let (Some(from), Some(to)) = (from, to) else { continue };
                let (start_ns, took_ns) = (nanos(begun + from), nanos(to.saturating_sub(from)));
                drop(info_span!(
                    parent: &self.span, "stage", otel.name = name, trackside.lifecycle = lifecycle, start_ns, took_ns
                ));
            }
        });
    }
}

/// Runs a future for a request on another task.
pub(crate) async fn during<T>(current: Option<Arc<RequestContext>>, work: impl Future<Output = T>) -> T {
    match current {
        Some(current) => current.during(work).await,
        None => work.await,
    }
}

/// The request that the current task works for, if any.
pub(crate) fn current() -> Option<Arc<RequestContext>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Its request id.
pub(crate) fn request_id() -> Option<Name> {
    current()?.id.clone()
}

/// Records an internal failure of that request for the log.
pub(crate) fn broke(why: &str) {
    if let Some(current) = current() {
        current.broke.set(why.to_owned()).ok();
    }
}

/// Runs blocking work for a request on another thread.
pub(crate) fn on_thread<T>(current: Option<Arc<RequestContext>>, work: impl FnOnce() -> T) -> T {
    match current {
        Some(current) => current.on_this_thread(work),
        None => work(),
    }
}

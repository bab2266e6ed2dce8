//! The request that is being answered: known to whatever is done for it, on its own task.

use std::sync::{Arc, OnceLock};

use trackside_lifecycle::name::Name;

use super::trace::Trace;

tokio::task_local! {
    static CURRENT: Arc<Current>;
}

/// The request that is being answered.
#[derive(Debug, Default)]
pub(crate) struct Current {
    /// The name that it goes by.
    pub id: Option<Name>,
    /// Who asks, once that is known.
    pub actor: OnceLock<Name>,
    /// What of ours broke, the first of it.
    pub broke: OnceLock<String>,
    /// What is noted of it, if somebody wants to know.
    pub trace: Option<Trace>,
}

impl Current {
    /// Does something for this request.
    pub async fn during<T>(self: Arc<Self>, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
    }

    /// The same for what waits on a thread of its own.
    pub fn on_this_thread<T>(self: Arc<Self>, work: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(self, work)
    }
}

/// Does something for this request, on another task.
pub(crate) async fn during<T>(current: Option<Arc<Current>>, work: impl Future<Output = T>) -> T {
    match current {
        Some(current) => current.during(work).await,
        None => work.await,
    }
}

/// The request on whose behalf this is done, if it is done for one.
pub(crate) fn current() -> Option<Arc<Current>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// The name of that request.
pub(crate) fn request_id() -> Option<Name> {
    current()?.id.clone()
}

/// Notes why something of ours broke while that request was answered.
pub(crate) fn broke(why: &str) {
    if let Some(current) = current() {
        current.broke.set(why.to_owned()).ok();
    }
}

/// Does something for this request, on a thread of its own.
pub(crate) fn on_thread<T>(current: Option<Arc<Current>>, work: impl FnOnce() -> T) -> T {
    match current {
        Some(current) => current.on_this_thread(work),
        None => work(),
    }
}

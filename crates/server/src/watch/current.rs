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
    /// What is noted of it, if somebody wants to know.
    pub trace: Option<Trace>,
}

impl Current {
    /// Does something for this request.
    pub async fn during<T>(self: Arc<Self>, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
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

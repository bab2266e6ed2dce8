//! Code outside the runtime that reacts to commits.

use std::sync::{Arc, PoisonError, RwLock};

use trackside_engine::event::Entry;

/// Reacts to every commit of any cause: command, batch, timer, import, migration or repair.
///
/// Observers run on the committer thread in the order in which they were registered. Reads already show the
/// commit; its callers are answered afterwards. The next commit waits for them, so they must not block.
pub trait CommitObserver: Send + Sync {
    /// The entries of one command, in the order of the journal.
    fn committed(&self, entries: &[Entry]);
}

/// The registered observers, in order.
#[derive(Default)]
pub(crate) struct Observers(RwLock<Vec<Arc<dyn CommitObserver>>>);

impl Observers {
    pub fn add(&self, observer: Arc<dyn CommitObserver>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(observer);
    }

    pub fn notify(&self, commands: &[Arc<Vec<Entry>>]) {
        for observer in self.0.read().unwrap_or_else(PoisonError::into_inner).iter() {
            commands.iter().for_each(|entries| observer.committed(entries));
        }
    }
}

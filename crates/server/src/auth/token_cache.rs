//! Identities of tokens that were looked up, by the hash of the token's text.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;
use trackside_engine::event::Entry;
use trackside_lifecycle::name::Name;
use trackside_runtime::CommitObserver;

use super::access::{Identity, TOKEN};

/// Most identities that are cached; at this size the cache starts over.
const MOST: usize = 20_000;

/// Identities of valid tokens. As an observer of commits it drops a token that changed, with its derived tokens, before the caller that changed it gets the answer.
#[derive(Default)]
pub(super) struct TokenCache(RwLock<Cached>);

#[derive(Default)]
struct Cached {
    by_hash: HashMap<String, Arc<Identity>, RandomState>,
    /// Commits that changed tokens, since the start.
    changes: u64,
}

impl TokenCache {
    pub fn get(&self, hash: &str) -> Option<Arc<Identity>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).by_hash.get(hash).cloned()
    }

    pub fn changes(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).changes
    }

    /// Caches an identity that was read when there were so many changes. If a token has changed since, it may have
    /// been this one: it is not cached.
    pub fn insert(&self, hash: &str, identity: Arc<Identity>, changes: u64) {
        let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if cached.changes != changes {
            return;
        }
        if cached.by_hash.len() >= MOST {
            cached.by_hash.clear();
        }
        cached.by_hash.insert(hash.to_owned(), identity);
    }
}

impl CommitObserver for TokenCache {
    fn committed(&self, entries: &[Entry]) {
        let of_tokens = entries.iter().filter(|it| *it.entity.lifecycle == *TOKEN);
        let changed: Vec<&Name> = of_tokens.map(|it| &it.entity.id).collect();
        if changed.is_empty() {
            return;
        }
        // The others stay.
        let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let is_changed = |it: &Name| changed.contains(&it);
        cached.by_hash.retain(|_, it| !is_changed(&it.token) && !it.makers.iter().any(is_changed));
        cached.changes += 1;
    }
}

//! Checks that a token is still valid, for streams and waits that outlive the request check.

use std::sync::Arc;

use trackside_engine::event::Entry;
use trackside_runtime::Failure;

use super::access::TOKEN;
use super::{Caller, Identity};
use crate::app::App;

/// A token that was accepted, and when it was last looked up.
#[derive(Debug)]
pub(crate) struct TokenLiveness {
    identity: Arc<Identity>,
    /// The count of token changes at the last lookup; none if there was none.
    looked: Option<u64>,
}

impl TokenLiveness {
    pub fn of(caller: &Caller) -> Self {
        Self { identity: caller.identity.clone(), looked: None }
    }

    /// Whether the token is still valid after these entries. Looked up again only when tokens have changed.
    pub fn is_good(&mut self, app: &App, entries: &[Entry]) -> Result<bool, Failure> {
        let now = app.reads.now();
        if self.identity.expires.is_some_and(|at| now >= at) {
            return Ok(false);
        }
        let changes = app.access.token_changes();
        let of_tokens = entries.iter().any(|it| *it.entity.lifecycle == *TOKEN);
        if self.looked != Some(changes) || of_tokens {
            if app.access.speaker(&self.identity.token, now)?.is_none() {
                return Ok(false);
            }
            self.looked = Some(changes);
        }
        Ok(true)
    }
}

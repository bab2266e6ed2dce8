//! Whether somebody is still let in, for what goes on after they were.

use std::sync::Arc;

use trackside_engine::event::Entry;
use trackside_runtime::Failure;

use super::access::TOKEN;
use super::{Caller, Identity};
use crate::app::App;

/// Somebody who was let in, and what was known of tokens then.
#[derive(Debug)]
pub(crate) struct Standing {
    identity: Arc<Identity>,
    /// How often what was known of tokens had been forgotten when it was last looked; none: never.
    looked: Option<u64>,
}

impl Standing {
    pub fn of(caller: &Caller) -> Self {
        Self { identity: caller.identity.clone(), looked: None }
    }

    /// Whether the token is still good, now that these have happened. It is looked up again only where something
    /// happened to tokens.
    pub fn is_good(&mut self, app: &App, entries: &[Entry]) -> Result<bool, Failure> {
        let now = app.reads.now();
        if self.identity.expires.is_some_and(|at| now >= at) {
            return Ok(false);
        }
        let forgotten = app.access.forgotten();
        let of_tokens = entries.iter().any(|it| *it.entity.lifecycle == *TOKEN);
        if self.looked != Some(forgotten) || of_tokens {
            if app.access.speaker(&self.identity.token, now)?.is_none() {
                return Ok(false);
            }
            self.looked = Some(forgotten);
        }
        Ok(true)
    }
}

//! Idempotency keys: one of them is for one request of whoever sent it, on all routes together.
//!
//! What a key was used for is in the journal, beside what the request did. Requests that write nothing there have their
//! answers in [`Answers`](super::Answers); whoever goes by one of the two also asks the other.

use std::sync::Arc;

use axum::http::StatusCode;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use trackside_engine::Decision;
use trackside_engine::command::{Ask, Command, Said};
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Refusal;
use trackside_lifecycle::name::Name;

use super::Wanted;
use crate::app::{App, own};
use crate::auth::Caller;
use crate::problem::Refused;

/// What a key is used for.
#[derive(Clone, Debug)]
pub(crate) struct KeyUse {
    /// Who sent it.
    pub sender: Name,
    pub key: Name,
    /// The request as a digest: who for, where, and the body.
    pub request: Arc<str>,
}

impl KeyUse {
    /// None if no key was sent.
    pub fn of(caller: &Caller, wanted: &Wanted, path: &str, body: &impl Serialize) -> Option<Self> {
        let (key, sender) = (wanted.key.clone()?, caller.actor().id.clone());
        let whose = caller.on_behalf_of.as_deref().unwrap_or_default();
        let text = serde_json::to_string(&(whose, path, body)).unwrap_or_default();
        let request: String =
            Sha256::digest(text.as_bytes()).iter().take(16).map(|it| format!("{it:02x}")).collect();
        Some(Self { sender, key, request: request.into() })
    }

    /// What is written of it.
    pub fn said(&self, place: Option<usize>) -> Said {
        Said { digest: self.request.clone(), place }
    }
}

/// A command that counts once for the whole request that it comes from; `place` where there are several in one.
pub(crate) fn under(used: Option<&KeyUse>, place: Option<usize>, mut command: Command) -> Command {
    if let Some(used) = used {
        command.idempotency_key = Some(used.key.clone());
        command.key_of = Some(used.sender.clone());
        command.said = Some(used.said(place));
    }
    command
}

/// What the journal has of a key: nothing, or where the first answer to this request is. One that was used for another
/// request is turned down.
pub(crate) async fn journalled(app: &App, used: &KeyUse) -> Result<Option<(u64, u32, u32)>, Refused> {
    // It changes nothing whoever asks, and is only decided.
    let command = under(Some(used), None, Command::new(own(), Ask::Adopt(Vec::new())));
    Ok(match app.gateway.dry_run(command)?.await? {
        Decision::Replayed { first, entries, root } => Some((first, entries, root)),
        Decision::Refused(refusal) if refusal.code == "idempotency-conflict" => {
            return Err((&*refusal).into());
        }
        _ => None,
    })
}

/// The entity that a request was about which came under its key before.
pub(crate) async fn entity_of(app: &App, entry: u64) -> Result<EntityKey, Refused> {
    let entry = app.read(move |reads| reads.entry(entry)).await?;
    entry.map(|it| it.entity).ok_or_else(|| Refused::broken("what a key was used for is not in the journal"))
}

/// What was made has a secret that was shown only once: it is not made again, and `then` says what to do.
pub(crate) async fn made_before(app: &App, entry: u64, then: fn(&str) -> String) -> Refused {
    match entity_of(app, entry).await {
        Ok(entity) => Refused::new(StatusCode::CONFLICT, "made-before", then(&entity.id)),
        Err(refused) => refused,
    }
}

/// The key was used for another request.
pub(crate) fn conflict(key: &Name) -> Refused {
    (&Refusal::key_used(key)).into()
}

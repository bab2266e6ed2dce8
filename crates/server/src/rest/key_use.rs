//! Idempotency keys of commands.
//!
//! The journal stores what a key was used for, in the commit of the command. The layer in `middleware/idempotency`
//! handles requests that write no entry.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::Uri;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use trackside_engine::Decision;
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command, RequestDigest};
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::{Code, Refusal};
use trackside_lifecycle::hex;
use trackside_lifecycle::name::Name;

use trackside_protocol::ProblemCode;

use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// The key of a request, and the request it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct KeyUse {
    /// The sender of the request.
    pub sender: Name,
    pub key: Name,
    /// On whose behalf, path and query, and the body.
    request: (Option<Name>, String, Bytes),
}

impl KeyUse {
    pub fn new(caller: &Caller, key: Name, uri: &Uri, body: Bytes) -> Self {
        let path = uri.path_and_query().map_or_else(|| uri.path().to_owned(), ToString::to_string);
        Self { sender: caller.actor().id.clone(), key, request: (caller.on_behalf_of.clone(), path, body) }
    }

    /// A digest of the request. The order of members and white space in its JSON do not count; no body is `{}`.
    pub fn digest(&self) -> Arc<str> {
        let (on_behalf_of, path, body) = &self.request;
        let mut hash = Sha256::new();
        hash.update(on_behalf_of.as_deref().unwrap_or_default());
        hash.update("\n");
        hash.update(path);
        hash.update("\n");
        match serde_json::from_slice::<Value>(if body.is_empty() { b"{}" } else { body }) {
            Ok(json) => hash.update(json.to_string()),
            Err(_) => hash.update(body),
        }
        hex::encode(hash.finalize().get(..16).unwrap_or_default()).into()
    }

    /// The form in which it is journalled.
    pub fn said(&self, place: Option<usize>) -> RequestDigest {
        RequestDigest { digest: self.digest(), place }
    }
}

/// Puts a command under the key of its request; `place` is its index if the request has several.
pub(crate) fn under(used: Option<&KeyUse>, place: Option<usize>, mut command: Command) -> Command {
    if let Some(used) = used {
        command.idempotency_key = Some(used.key.clone());
        command.key_of = Some(used.sender.clone());
        command.said = Some(used.said(place));
    }
    command
}

/// Looks a key up in the journal: none, or where the first answer is. Refuses a key of another request.
pub(crate) async fn journalled(app: &App, used: &KeyUse) -> Result<Option<(u64, u32, u32)>, Refused> {
    // An empty import changes nothing and is only decided.
    let command = under(Some(used), None, Command::new(Actor::engine(), Ask::Import(Vec::new())));
    Ok(match app.gateway.dry_run(command)?.await? {
        Decision::Replayed { first, entries, root } => Some((first, entries, root)),
        Decision::Refused(refusal) if refusal.code == Code::IdempotencyConflict => {
            return Err((&*refusal).into());
        }
        _ => None,
    })
}

/// The entity that an earlier request under the same key was about.
pub(crate) async fn entity_of(app: &App, entry: u64) -> Result<EntityKey, Refused> {
    let entry = app.read(move |reads| reads.entry(entry)).await?;
    entry.map(|it| it.entity).ok_or_else(|| Refused::broken("what a key was used for is not in the journal"))
}

/// The refusal for a repeated request that created a secret: it is not shown again, and `then` says what to do.
pub(crate) async fn made_before(app: &App, entry: u64, then: fn(&str) -> String) -> Refused {
    match entity_of(app, entry).await {
        Ok(entity) => Refused::new(ProblemCode::MadeBefore, then(&entity.id)),
        Err(refused) => refused,
    }
}

/// The refusal for a key of another request.
pub(crate) fn conflict(key: &Name) -> Refused {
    (&Refusal::key_used(key)).into()
}

//! What the server makes for somebody, once under their key: it has a secret, so it is not told like other answers.

use axum::http::StatusCode;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;

use super::{Wanted, conflict};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Under which names something is made once.
#[derive(Clone, Debug)]
pub(crate) struct Once {
    /// What it is called: the same request of the same actor gives the same.
    pub entity: EntityKey,
    /// The key, as that of its sender: it is the server that asks for the entity.
    pub key: Name,
    said: Name,
}

impl Once {
    /// None if no key was sent.
    pub fn of(caller: &Caller, wanted: &Wanted, lifecycle: &str, body: &impl Serialize) -> Option<Self> {
        let (said, sender) = (wanted.key.clone()?, &caller.actor().id);
        let (body, on_behalf_of) = (serde_json::to_string(body).ok()?, caller.on_behalf_of.as_deref());
        let whole = format!("{sender}\n{}\n{lifecycle}\n{said}\n{body}", on_behalf_of.unwrap_or_default());
        let id: String =
            Sha256::digest(whole.as_bytes()).iter().take(6).map(|it| format!("{it:02x}")).collect();
        let key = Name::new(&format!("{sender} {said}"));
        Some(Self { entity: EntityKey::new(lifecycle, id.as_str()), key, said })
    }

    /// Why it is not made now: it was before, or its key was for something else. `then` says what to do in the first
    /// case.
    pub async fn refused(&self, app: &App, then: impl FnOnce(&str) -> String) -> Refused {
        let entity = self.entity.clone();
        match app.read(move |reads| reads.entity(&entity)).await {
            Err(refused) => refused,
            Ok(Some(_)) => Refused::new(StatusCode::CONFLICT, "made-before", then(self.entity.id.as_str())),
            Ok(None) => self.conflict(),
        }
    }

    /// The key was used for another request.
    pub fn conflict(&self) -> Refused {
        conflict(&self.said)
    }
}

/// Whether the engine says that something was made before, or that the key was used.
pub(crate) fn is_twice(code: &str) -> bool {
    ["already-exists", "idempotency-conflict"].contains(&code)
}

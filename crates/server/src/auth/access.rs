//! Tokens and sign-in links: lookup, creation and expiry.
//!
//! A token is an entity of the pack in `access/`, so that it is journalled, expires by a timer, is revoked by a
//! transition, and is in every backup. This file and that pack belong together.

use std::sync::Arc;

use tokio::sync::Mutex;
use trackside_engine::actor::{Actor, ActorKind, CredentialKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;
use trackside_runtime::{CommandAnswer, Failure, PackSource, Runtime};

use super::secret::{Secret, hash_of};
use super::token_cache::TokenCache;
use crate::rest::{KeyUse, under};
use crate::telemetry::request_id;

/// The pack with the lifecycles of tokens, sign-in links and webhooks.
pub const PACK: &str = "access";
/// The lifecycle of tokens.
pub(crate) const TOKEN: &str = "access.token";
/// The purpose of the owner's credential, which commands use only at a terminal.
pub(crate) const TERMINAL: &str = "terminal";
/// The lifecycle of sign-in links.
const LINK: &str = "access.link";

/// Whether a lifecycle is the server's own: tokens, links and webhooks have their own routes.
pub(crate) fn is_own(lifecycle: &Name) -> bool {
    lifecycle.as_str().split_once('.').is_some_and(|(pack, _)| pack == PACK)
}

/// The files of the pack.
pub(crate) fn pack() -> PackSource {
    let files = [
        ("pack.yaml", include_str!("../../access/pack.yaml")),
        ("lifecycles/link.yaml", include_str!("../../access/lifecycles/link.yaml")),
        ("lifecycles/token.yaml", include_str!("../../access/lifecycles/token.yaml")),
        ("lifecycles/webhook.yaml", include_str!("../../access/lifecycles/webhook.yaml")),
    ];
    PackSource { files: files.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec() }
}

/// Why a token or link cannot be created or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    #[error(transparent)]
    Failure(#[from] Failure),
    #[error("the system has no source of randomness")]
    NoRandomness,
    /// The same request under the same key created it earlier, with this entry.
    #[error("it was made before")]
    Before(u64),
    #[error("the key {0} was used for another request")]
    KeyUsed(Name),
    #[error("{0}")]
    Refused(String),
}

/// The actor of a token, and what the token allows.
#[derive(Debug)]
pub(crate) struct Identity {
    pub token: Name,
    pub actor: Actor,
    /// The ids it may act for; `*` at the end matches any suffix.
    pub on_behalf: Vec<Name>,
    pub expires: Option<Timestamp>,
    /// For a run token: the token it was made with. It ends with that one.
    pub(super) made_with: Option<Name>,
}

impl Identity {
    pub(super) fn of(entity: &Entity) -> Option<Self> {
        let text = |name: &str| entity.fields.text(name).map(Name::new);
        let list = |name: &str| -> Vec<Name> { entity.fields.texts(name).map(Name::new).collect() };
        let kind = ActorKind::parse(&text("kind")?)?;
        let credential = match text("purpose").as_deref() {
            Some("session") => CredentialKind::Page,
            Some(TERMINAL) => CredentialKind::Terminal,
            _ => CredentialKind::Token,
        };
        let via = (kind == ActorKind::Human).then_some(credential);
        Some(Self {
            token: entity.key.id.clone(),
            actor: Actor::new(text("holder")?, kind).with_roles(list("roles")).authenticated_by(via),
            on_behalf: list("for"),
            expires: entity.fields.get("expires").and_then(Value::as_time),
            made_with: text("madeWith"),
        })
    }

    /// Whether it may act for this id.
    pub fn may_act_for(&self, id: &str) -> bool {
        self.on_behalf.iter().any(|it| match it.strip_suffix('*') {
            Some(start) => id.starts_with(start),
            None => **it == *id,
        })
    }

    /// Whether it belongs to a person with role admin.
    pub fn is_admin(&self) -> bool {
        self.actor.kind == ActorKind::Human && self.actor.has_role("admin")
    }
}

/// The session that a sign-in link grants.
#[derive(Clone, Debug)]
pub(crate) struct LinkGrant {
    pub holder: Name,
    pub roles: Vec<Name>,
    /// The latest end of the session.
    pub until: Option<Timestamp>,
}

/// A token to be created.
#[derive(Clone, Debug)]
pub(crate) struct TokenSpec {
    pub holder: Name,
    pub kind: ActorKind,
    pub roles: Vec<Name>,
    pub on_behalf: Vec<Name>,
    /// `token`, `terminal`, `session` or `run`.
    pub purpose: &'static str,
    pub note: Option<String>,
    pub expires: Option<Timestamp>,
    /// The actor that requested it.
    pub by: Name,
    /// The token it ends with.
    pub made_with: Option<Name>,
}

/// Looks up, creates and ends tokens and sign-in links.
pub(crate) struct Access {
    pub(super) runtime: Arc<Runtime>,
    cache: Arc<TokenCache>,
    /// The start of the server's fingerprint, which every token contains.
    issuer: String,
    /// Held while the list of people is computed and written.
    pub(super) counting: Mutex<()>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Access")
    }
}

impl Access {
    pub fn new(runtime: Arc<Runtime>, issuer: &str) -> Self {
        let cache = Arc::<TokenCache>::default();
        runtime.observe(cache.clone());
        Self { runtime, cache, issuer: issuer.to_owned(), counting: Mutex::default() }
    }

    /// The identity of a valid token; none for any other text.
    pub fn identity(&self, text: &str, now: Timestamp) -> Result<Option<Arc<Identity>>, Failure> {
        let Some(id) = Secret::id_in(text) else { return Ok(None) };
        let hash = hash_of(text);
        let identity = match self.cache.get(&hash) {
            Some(known) => Some(known),
            None => self.look_up(id, &hash)?,
        };
        Ok(identity.filter(|it| it.expires.is_none_or(|at| now < at)))
    }

    fn look_up(&self, id: &str, hash: &str) -> Result<Option<Arc<Identity>>, Failure> {
        let changes = self.cache.changes();
        let key = EntityKey::new(TOKEN, id);
        let entity = self.runtime.entity(&key).map_err(|it| Failure::Unavailable(it.to_string()))?;
        let Some(entity) = entity.filter(|it| self.is_open(it)) else { return Ok(None) };
        if entity.fields.text("hash") != Some(hash) || !self.is_backed(&entity)? {
            return Ok(None);
        }
        let identity = Identity::of(&entity).map(Arc::new);
        if let Some(identity) = &identity {
            self.cache.insert(hash, identity.clone(), changes);
        }
        Ok(identity)
    }

    /// The identity of a token by its id, for work that continues without a request, such as streams and webhooks.
    pub fn speaker(&self, id: &Name, now: Timestamp) -> Result<Option<Arc<Identity>>, Failure> {
        let key = EntityKey { lifecycle: Name::new(TOKEN), id: id.clone() };
        let entity = self.runtime.entity(&key).map_err(|it| Failure::Unavailable(it.to_string()))?;
        let Some(entity) = entity.filter(|it| self.is_open(it)) else { return Ok(None) };
        if !self.is_backed(&entity)? {
            return Ok(None);
        }
        let identity = Identity::of(&entity);
        Ok(identity.filter(|it| it.expires.is_none_or(|at| now < at)).map(Arc::new))
    }

    /// Whether an entity is not in a final state.
    pub fn is_open(&self, entity: &Entity) -> bool {
        let law = self.runtime.law();
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        life.and_then(|it| it.state(&entity.state)).is_some_and(|it| !it.last)
    }

    /// Whether the token it was made with, if any, is still valid.
    fn is_backed(&self, entity: &Entity) -> Result<bool, Failure> {
        let Some(maker) = entity.fields.text("madeWith") else { return Ok(true) };
        let maker = self.runtime.entity(&EntityKey::new(TOKEN, maker));
        let maker = maker.map_err(|it| Failure::Unavailable(it.to_string()))?;
        Ok(maker.is_some_and(|it| self.is_open(&it)))
    }

    /// The number of token changes since the start. An earlier lookup must be repeated when this has grown.
    pub fn token_changes(&self) -> u64 {
        self.cache.changes()
    }

    /// Creates a token. Its text is not stored.
    pub async fn mint(
        &self,
        spec: TokenSpec,
        used: Option<&KeyUse>,
    ) -> Result<(Secret, Arc<Entity>), AccessError> {
        let secret = Secret::new(Some(&self.issuer)).ok_or(AccessError::NoRandomness)?;
        let names = |all: &[Name]| Value::list(all.iter().map(Value::from).collect());
        let mut fields = vec![
            ("holder", Value::from(&spec.holder)),
            ("kind", Value::text(spec.kind.as_str())),
            ("roles", names(&spec.roles)),
            ("for", names(&spec.on_behalf)),
            ("purpose", Value::text(spec.purpose)),
            ("hash", Value::text(&secret.hash)),
            ("mintedBy", Value::from(&spec.by)),
        ];
        if let Some(token) = &spec.made_with {
            fields.push(("madeWith", Value::from(token)));
        }
        if let Some(note) = &spec.note {
            fields.push(("note", Value::text(note)));
        }
        if let Some(expires) = spec.expires {
            fields.push(("expires", Value::Time(expires)));
        }
        let entity =
            self.create(EntityKey::new(TOKEN, secret.id.as_str()), fields, spec.by.clone(), used).await?;
        if spec.kind == ActorKind::Human {
            self.count_person(&spec.holder).await?;
        }
        Ok((secret, entity))
    }

    /// Creates a sign-in link, which works once. The session ends at `until` at the latest.
    pub async fn link(
        &self,
        holder: Name,
        roles: &[Name],
        by: Name,
        until: Option<Timestamp>,
        used: Option<&KeyUse>,
    ) -> Result<(Secret, Arc<Entity>), AccessError> {
        let secret = Secret::new(None).ok_or(AccessError::NoRandomness)?;
        let mut fields = vec![
            ("holder", Value::from(&holder)),
            ("roles", Value::list(roles.iter().map(Value::from).collect())),
            ("hash", Value::text(&secret.hash)),
            ("mintedBy", Value::from(&by)),
        ];
        if let Some(until) = until {
            fields.push(("until", Value::Time(until)));
        }
        let entity = self.create(EntityKey::new(LINK, secret.id.as_str()), fields, by, used).await?;
        Ok((secret, entity))
    }

    /// Uses up a link and returns the session it grants; none if it is not valid.
    pub async fn follow(&self, text: &str) -> Result<Option<LinkGrant>, AccessError> {
        let Some(id) = Secret::id_in(text) else { return Ok(None) };
        let key = EntityKey::new(LINK, id);
        let entity = self.runtime.entity(&key).map_err(|it| Failure::Unavailable(it.to_string()))?;
        let Some(entity) = entity.filter(|it| self.is_open(it)) else { return Ok(None) };
        if entity.fields.text("hash") != Some(&hash_of(text)) {
            return Ok(None);
        }
        let mut follow = Command::fire(Actor::engine(), key, "follow", Default::default());
        follow.request_id = request_id();
        match self.runtime.gateway()?.submit(follow)?.await? {
            CommandAnswer::Accepted(_) => {}
            CommandAnswer::Refused(_) | CommandAnswer::Replayed { .. } => return Ok(None),
        }
        let roles = entity.fields.texts("roles").map(Name::new).collect();
        let until = entity.fields.get("until").and_then(Value::as_time);
        Ok(entity.fields.text("holder").map(|it| LinkGrant { holder: Name::new(it), roles, until }))
    }

    /// Revokes a token, if it is valid.
    pub async fn revoke(&self, id: &str) -> Result<(), AccessError> {
        let key = EntityKey::new(TOKEN, id);
        let mut revoke = Command::fire(Actor::engine(), key, "revoke", Default::default());
        revoke.request_id = request_id();
        self.runtime.gateway()?.submit(revoke)?.await?;
        Ok(())
    }

    async fn create(
        &self,
        key: EntityKey,
        fields: Vec<(&str, Value)>,
        by: Name,
        used: Option<&KeyUse>,
    ) -> Result<Arc<Entity>, AccessError> {
        let fields = fields.into_iter().collect();
        let mut command = Command::new(Actor::engine(), Ask::Create { entity: key, fields });
        command.on_behalf_of = Some(by);
        command.request_id = request_id();
        match self.runtime.gateway()?.submit(under(used, None, command))?.await? {
            CommandAnswer::Accepted(accepted) => {
                accepted.entity.ok_or_else(|| AccessError::Refused("nothing was made".to_owned()))
            }
            CommandAnswer::Refused(refusal) => Err(match used {
                Some(used) if refusal.code == Code::IdempotencyConflict => {
                    AccessError::KeyUsed(used.key.clone())
                }
                _ => AccessError::Refused(refusal.detail.clone()),
            }),
            CommandAnswer::Replayed { first, root, .. } => Err(AccessError::Before(first + u64::from(root))),
        }
    }
}

//! Tokens and sign-in links: lookup, creation and expiry.
//!
//! A token is an entity of the pack in `access/`, so that it is journalled, expires by a timer, is revoked by a
//! transition, and is in every backup. This file and that pack belong together.

use std::sync::Arc;

use tokio::sync::Mutex;
use trackside_engine::actor::{Actor, ActorKind, CredentialKind, RunScope};
use trackside_engine::command::{Ask, Command};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;
use trackside_runtime::read::{ListQuery, MOST};
use trackside_runtime::{CommandAnswer, Failure, Pending, Runtime, StartError, SubmitOptions};

use super::people::KnownPeople;
use super::roles;
use super::secret::{Secret, hash_of};
use super::token_cache::TokenCache;
use crate::rest::{KeyUse, under};
use crate::telemetry::request_id;

/// The pack with the lifecycles of tokens, sign-in links and webhooks.
pub const PACK: &str = trackside_engine::decide::ACCESS;
/// The lifecycle of tokens.
pub(crate) const TOKEN: &str = "access.token";
/// The purpose of the owner's credential, which commands use only at a terminal.
pub(crate) const TERMINAL: &str = "terminal";
/// The purpose of a browser's session.
pub(crate) const SESSION: &str = "session";
/// The purpose of a browser's session that the OpenID provider granted.
pub(crate) const OIDC: &str = "oidc";
/// The purpose of the session of a person that the reverse proxy authenticated.
pub(crate) const PROXY: &str = "proxy";
/// Most replacements of a token that are followed.
const LONGEST_SUCCESSION: usize = 64;
/// The lifecycle of sign-in links.
pub(super) const LINK: &str = "access.link";

/// Whether a lifecycle is the server's own: tokens, links and webhooks have their own routes.
pub(crate) fn is_own(lifecycle: &Name) -> bool {
    trackside_engine::decide::is_protected(lifecycle)
}

/// Revokes every token and sign-in link of a project that is a copy from elsewhere, and returns their number.
pub fn revoke_credentials(runtime: &Runtime) -> Result<u64, StartError> {
    crate::own_packs::install(runtime)?;
    let (law, mut revoked) = (runtime.law(), 0);
    for lifecycle in [TOKEN, LINK] {
        let mut query = ListQuery::of(lifecycle, Actor::engine());
        let states = law.newest(&query.lifecycle).into_iter().flat_map(|it| &it.states).filter(|it| !it.last);
        (query.states, query.limit) = (states.map(|it| it.name.clone()).collect(), MOST);
        loop {
            runtime.wait_until_written()?;
            let page = runtime.reads()?.list(&query).map_err(|it| Failure::Unavailable(it.to_string()))?;
            for it in &page.items {
                let revoke = Command::fire(Actor::engine(), it.key.clone(), "revoke", Default::default());
                if let CommandAnswer::Accepted(_) = runtime.gateway()?.ask(revoke)? {
                    revoked += 1;
                }
            }
            query.cursor = page.next_cursor;
            if query.cursor.is_none() {
                break;
            }
        }
    }
    Ok(revoked)
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
    /// The tokens that a run token or session was made with, the nearest first. It ends with each of them.
    pub(super) makers: Vec<Name>,
}

impl Identity {
    /// The identity of a token, with its roles as `pack:role`.
    fn of(entity: &Entity, roles: Vec<Name>, makers: Vec<Name>) -> Option<Self> {
        let text = |name: &str| entity.fields.text(name).map(Name::new);
        let list = |name: &str| -> Vec<Name> { entity.fields.texts(name).map(Name::new).collect() };
        let kind = ActorKind::parse(&text("kind")?)?;
        let credential = match text("purpose").as_deref() {
            Some(SESSION) => CredentialKind::Page,
            Some(TERMINAL) => CredentialKind::Terminal,
            Some(OIDC) => CredentialKind::Oidc,
            Some(PROXY) => CredentialKind::Proxy,
            _ => CredentialKind::Token,
        };
        let via = (kind == ActorKind::Human).then_some(credential);
        let scope = match entity.fields.text("entity") {
            Some(limit) => Some(RunScope { entity: EntityKey::parse(limit)?, run: text("run") }),
            None => None,
        };
        let actor = Actor::new(text("holder")?, kind).with_roles(roles).authenticated_by(via);
        Some(Self {
            token: entity.key.id.clone(),
            actor: actor.limited_to(scope),
            on_behalf: list("for"),
            expires: expiry(entity),
            makers,
        })
    }

    /// Whether it names this id.
    pub(super) fn names(&self, id: &str) -> bool {
        self.on_behalf.iter().any(|it| **it == *id)
    }

    /// Whether a pattern of it matches this id.
    pub fn matches(&self, id: &str) -> bool {
        let starts = |it: &Name| it.strip_suffix('*').is_some_and(|start| id.starts_with(start));
        self.names(id) || self.on_behalf.iter().any(starts)
    }

    /// Whether it belongs to a person with role admin.
    pub fn is_admin(&self) -> bool {
        self.actor.kind == ActorKind::Human && self.actor.has_role("admin")
    }
}

/// The time at which a token expires.
pub(super) fn expiry(entity: &Entity) -> Option<Timestamp> {
    entity.fields.get("expires").and_then(Value::as_time)
}

/// The session that a sign-in link grants.
#[derive(Clone, Debug)]
pub(crate) struct LinkGrant {
    pub holder: Name,
    pub roles: Vec<Name>,
    /// The latest end of the session.
    pub until: Option<Timestamp>,
    /// The token that the link was made with.
    pub made_with: Option<Name>,
}

/// A token to be created.
#[derive(Clone, Debug)]
pub(crate) struct TokenSpec {
    pub holder: Name,
    pub kind: ActorKind,
    pub roles: Vec<Name>,
    pub on_behalf: Vec<Name>,
    /// `token`, `terminal`, `session`, `run`, `oidc` or `proxy`.
    pub purpose: &'static str,
    pub note: Option<String>,
    pub expires: Option<Timestamp>,
    /// The actor that requested it.
    pub by: Name,
    /// The kind of that actor, and the token that it used, if it used one.
    pub minter: Option<(ActorKind, Name)>,
    /// The token it ends with.
    pub made_with: Option<Name>,
    /// The entity and the run that it is limited to.
    pub scope: Option<RunScope>,
}

/// A sign-in link to be created.
#[derive(Clone, Debug)]
pub(crate) struct LinkSpec {
    pub holder: Name,
    pub roles: Vec<Name>,
    /// The actor that requested it.
    pub by: Name,
    /// The latest end of the session.
    pub until: Option<Timestamp>,
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
    pub(super) known_people: KnownPeople,
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
        Self {
            runtime,
            cache,
            issuer: issuer.to_owned(),
            counting: Mutex::default(),
            known_people: KnownPeople::default(),
        }
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
        let Some(entity) = self.token(&Name::new(id))?.filter(|it| self.is_open(it)) else { return Ok(None) };
        if entity.fields.text("hash") != Some(hash) {
            return Ok(None);
        }
        let identity = self.identify(&entity)?.map(Arc::new);
        if let Some(identity) = &identity {
            self.cache.insert(hash, identity.clone(), changes);
        }
        Ok(identity)
    }

    /// The record of a token.
    pub fn token(&self, id: &Name) -> Result<Option<Arc<Entity>>, Failure> {
        let key = EntityKey { lifecycle: Name::new(TOKEN), id: id.clone() };
        self.runtime.entity(&key).map_err(|it| Failure::Unavailable(it.to_string()))
    }

    /// The identity of an open token; none if a token that it was made with has ended.
    pub(super) fn identify(&self, entity: &Entity) -> Result<Option<Identity>, Failure> {
        let Some(makers) = self.makers(entity)? else { return Ok(None) };
        Ok(Identity::of(entity, roles::stored(&self.runtime, entity)?, makers))
    }

    /// The identity of a token by its id, for work that continues without a request, such as streams and webhooks. A
    /// replaced token is followed to the one that replaces it.
    pub fn speaker(&self, id: &Name, now: Timestamp) -> Result<Option<Arc<Identity>>, Failure> {
        let mut id = id.clone();
        for _ in 0..LONGEST_SUCCESSION {
            let Some(entity) = self.token(&id)? else { return Ok(None) };
            if self.is_open(&entity) && expiry(&entity).is_none_or(|at| now < at) {
                return Ok(self.identify(&entity)?.map(Arc::new));
            }
            let Some(successor) = entity.fields.text("successor") else { return Ok(None) };
            id = Name::new(successor);
        }
        Ok(None)
    }

    /// Whether an entity is not in a final state.
    pub fn is_open(&self, entity: &Entity) -> bool {
        let law = self.runtime.law();
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        life.and_then(|it| it.state(&entity.state)).is_some_and(|it| !it.last)
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
        if let Some((kind, token)) = &spec.minter {
            fields.extend([("minterKind", Value::text(kind.as_str())), ("mintedWith", Value::from(token))]);
        }
        if let Some(token) = &spec.made_with {
            fields.push(("madeWith", Value::from(token)));
        }
        if let Some(note) = &spec.note {
            fields.push(("note", Value::text(note)));
        }
        if let Some(scope) = &spec.scope {
            fields.push(("entity", Value::text(&scope.entity.to_string())));
            fields.extend(scope.run.as_ref().map(|it| ("run", Value::from(it))));
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

    /// Creates a sign-in link, which works once.
    pub async fn link(
        &self,
        spec: LinkSpec,
        used: Option<&KeyUse>,
    ) -> Result<(Secret, Arc<Entity>), AccessError> {
        let LinkSpec { holder, roles, by, until, made_with } = spec;
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
        if let Some(token) = &made_with {
            fields.push(("madeWith", Value::from(token)));
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
        if entity.fields.text("hash") != Some(&hash_of(text)) || self.makers(&entity)?.is_none() {
            return Ok(None);
        }
        let mut follow = Command::fire(Actor::engine(), key, "follow", Default::default());
        follow.request_id = request_id();
        match self.submit(follow, true)?.await? {
            CommandAnswer::Accepted(_) => {}
            CommandAnswer::Refused(_) | CommandAnswer::Replayed { .. } => return Ok(None),
        }
        let roles = roles::stored(&self.runtime, &entity)?;
        let until = entity.fields.get("until").and_then(Value::as_time);
        let made_with = entity.fields.text("madeWith").map(Name::new);
        Ok(entity.fields.text("holder").map(|it| LinkGrant {
            holder: Name::new(it),
            roles,
            until,
            made_with,
        }))
    }

    /// Revokes a token, if it is valid.
    pub async fn revoke(&self, id: &str) -> Result<(), AccessError> {
        let key = EntityKey::new(TOKEN, id);
        let mut revoke = Command::fire(Actor::engine(), key, "revoke", Default::default());
        revoke.request_id = request_id();
        self.submit(revoke, true)?.await?;
        Ok(())
    }

    /// Lets a token end after a while, because another one replaces it. Tokens and sessions made with it stay valid.
    pub async fn replace(
        &self,
        old: &Entity,
        successor: &Name,
        overlap: Span,
    ) -> Result<Arc<Entity>, AccessError> {
        let ends = self.runtime.reads()?.now().plus(overlap);
        let ends = expiry(old).map_or(ends, |it| it.min(ends));
        let fields = [("successor", Value::from(successor)), ("expires", Value::Time(ends))];
        let mut replace =
            Command::fire(Actor::engine(), old.key.clone(), "replace", fields.into_iter().collect());
        replace.request_id = request_id();
        match self.runtime.gateway()?.submit(replace)?.await? {
            CommandAnswer::Accepted(accepted) => {
                accepted.entity.ok_or_else(|| AccessError::Refused("nothing was replaced".to_owned()))
            }
            CommandAnswer::Refused(refusal) => Err(AccessError::Refused(refusal.detail.clone())),
            CommandAnswer::Replayed { .. } => Err(AccessError::Refused("nothing was replaced".to_owned())),
        }
    }

    /// Moves the end of a run token.
    pub async fn extend(&self, token: &Entity, ends: Timestamp) -> Result<Arc<Entity>, AccessError> {
        let fields = [("expires", Value::Time(ends))];
        let mut extend =
            Command::fire(Actor::engine(), token.key.clone(), "extend", fields.into_iter().collect());
        extend.request_id = request_id();
        match self.runtime.gateway()?.submit(extend)?.await? {
            CommandAnswer::Accepted(accepted) => {
                accepted.entity.ok_or_else(|| AccessError::Refused("nothing was extended".to_owned()))
            }
            CommandAnswer::Refused(refusal) => Err(AccessError::Refused(refusal.detail.clone())),
            CommandAnswer::Replayed { .. } => Err(AccessError::Refused("nothing was extended".to_owned())),
        }
    }

    pub(super) fn submit(&self, command: Command, from_reserve: bool) -> Result<Pending, Failure> {
        let options = SubmitOptions { from_reserve, ..SubmitOptions::default() };
        self.runtime.gateway()?.submit_with(command, options)
    }

    async fn create(
        &self,
        key: EntityKey,
        fields: Vec<(&str, Value)>,
        by: Name,
        used: Option<&KeyUse>,
    ) -> Result<Arc<Entity>, AccessError> {
        let fields: Fields = fields.into_iter().collect();
        let purpose = fields.text("purpose").map(str::to_owned);
        let mut command = Command::new(Actor::engine(), Ask::Create { entity: key, fields });
        command.on_behalf_of = Some(by);
        command.request_id = request_id();
        // People can sign in while there is no space, to see to it.
        let from_reserve = purpose.as_deref() != Some("run");
        match self.submit(under(used, None, command), from_reserve)?.await? {
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

//! Tokens: looked up by what somebody shows, made for somebody, known until they end.
//!
//! A token is an entity of the pack in `access/`, so that it is journalled, expires by a timer, is revoked by a
//! transition, and is in every backup. This file and that pack belong together.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;
use tokio::sync::Mutex;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::entity::Entity;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;
use trackside_runtime::{Answer, Failure, PackSource, Runtime};

use super::rate::Bucket;
use super::secret::{Secret, hash_of};
use crate::app::own;
use crate::rest::{KeyUse, under};
use crate::watch::request_id;

/// The pack of all that is kept of who comes in.
pub const PACK: &str = "access";
/// The lifecycle of tokens.
pub(crate) const TOKEN: &str = "access.token";
/// The lifecycle of sign-in links.
const LINK: &str = "access.link";

/// Whether a lifecycle is ours: tokens, links and webhooks are the server's own affair, and have routes of their own.
pub(crate) fn is_own(lifecycle: &Name) -> bool {
    lifecycle.as_str().split_once('.').is_some_and(|(pack, _)| pack == PACK)
}

/// Most tokens that are remembered at a time.
const MOST: usize = 20_000;

/// The texts of the pack.
pub(crate) fn pack() -> PackSource {
    let files = [
        ("pack.yaml", include_str!("../../access/pack.yaml")),
        ("lifecycles/link.yaml", include_str!("../../access/lifecycles/link.yaml")),
        ("lifecycles/token.yaml", include_str!("../../access/lifecycles/token.yaml")),
        ("lifecycles/webhook.yaml", include_str!("../../access/lifecycles/webhook.yaml")),
    ];
    PackSource { files: files.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec() }
}

/// Why somebody cannot be let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    #[error(transparent)]
    Failure(#[from] Failure),
    #[error("the machine has no randomness to make a secret of")]
    NoRandomness,
    /// By the same request, which came before under its key: the entry that tells of it.
    #[error("it was made before")]
    Before(u64),
    #[error("the key {0} was used for another request")]
    KeyUsed(Name),
    #[error("{0}")]
    Refused(String),
}

/// Whom a token speaks for.
#[derive(Debug)]
pub(crate) struct Identity {
    pub token: Name,
    pub actor: Actor,
    /// Whom it may act for: ids, with `*` for any end.
    pub on_behalf: Vec<Name>,
    pub expires: Option<Timestamp>,
    /// The token that it was made with, and ends with.
    made_with: Option<Name>,
    /// How often it may be used.
    pub bucket: Bucket,
}

impl Identity {
    pub(super) fn of(entity: &Entity) -> Option<Self> {
        let text = |name: &str| Some(Name::new(entity.fields.get(name)?.as_str()?));
        let list = |name: &str| -> Vec<Name> {
            let value = entity.fields.value(name);
            value.as_list().unwrap_or_default().iter().filter_map(Value::as_str).map(Name::new).collect()
        };
        let kind = match &*text("kind")? {
            "human" => ActorKind::Human,
            "agent" => ActorKind::Agent,
            "system" => ActorKind::System,
            _ => return None,
        };
        Some(Self {
            token: entity.key.id.clone(),
            actor: Actor::new(text("holder")?, kind).with_roles(list("roles")),
            on_behalf: list("for"),
            expires: entity.fields.get("expires").and_then(Value::as_time),
            made_with: text("madeWith"),
            bucket: Bucket::default(),
        })
    }

    /// Whether it may act for somebody.
    pub fn may_act_for(&self, id: &str) -> bool {
        self.on_behalf.iter().any(|it| match it.strip_suffix('*') {
            Some(start) => id.starts_with(start),
            None => **it == *id,
        })
    }

    /// A person who may do everything that a person may.
    pub fn is_admin(&self) -> bool {
        self.actor.kind == ActorKind::Human && self.actor.has_role("admin")
    }
}

/// Whom a link lets in.
#[derive(Clone, Debug)]
pub(crate) struct LetIn {
    pub holder: Name,
    pub roles: Vec<Name>,
    /// No longer than this.
    pub until: Option<Timestamp>,
}

/// A token that is to be made.
#[derive(Clone, Debug)]
pub(crate) struct Minting {
    pub holder: Name,
    pub kind: ActorKind,
    pub roles: Vec<Name>,
    pub on_behalf: Vec<Name>,
    /// `token`, `session` or `run`.
    pub purpose: &'static str,
    pub note: Option<String>,
    pub expires: Option<Timestamp>,
    /// Who had it made.
    pub by: Name,
    /// The token that it ends with.
    pub made_with: Option<Name>,
}

/// Who has come in, by the hash of what they showed.
pub(crate) struct Access {
    pub(super) runtime: Arc<Runtime>,
    known: RwLock<Known>,
    /// Held while people are counted and the list is written.
    pub(super) counting: Mutex<()>,
}

/// What was looked up, and how often all of it was forgotten.
#[derive(Default)]
struct Known {
    by_hash: HashMap<String, Arc<Identity>, RandomState>,
    forgotten: u64,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Access")
    }
}

impl Access {
    pub fn new(runtime: Arc<Runtime>) -> Self {
        Self { runtime, known: RwLock::default(), counting: Mutex::default() }
    }

    /// Whether something has to be looked up for this: it may be a token, and nobody came in with it yet.
    pub fn is_strange(&self, text: &str) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        Secret::id_in(text).is_some() && !known.by_hash.contains_key(&hash_of(text))
    }

    /// Whom a token speaks for; none if it is not one, or not any more.
    pub fn identity(&self, text: &str, now: Timestamp) -> Result<Option<Arc<Identity>>, Failure> {
        let Some(id) = Secret::id_in(text) else { return Ok(None) };
        let hash = hash_of(text);
        let (known, forgotten) = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            (known.by_hash.get(&hash).cloned(), known.forgotten)
        };
        let identity = match known {
            Some(known) => known,
            None => match self.look_up(id, &hash, forgotten)? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        Ok(Some(identity).filter(|it| it.expires.is_none_or(|at| now < at)))
    }

    fn look_up(&self, id: &str, hash: &str, forgotten: u64) -> Result<Option<Arc<Identity>>, Failure> {
        let key = EntityKey::new(TOKEN, id);
        let entity = self.runtime.entity(&key).map_err(|it| Failure::Unavailable(it.to_string()))?;
        let Some(entity) = entity.filter(|it| self.is_open(it)) else { return Ok(None) };
        if entity.fields.get("hash").and_then(Value::as_str) != Some(hash) || !self.is_backed(&entity)? {
            return Ok(None);
        }
        let Some(identity) = Identity::of(&entity).map(Arc::new) else { return Ok(None) };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // What was read may have been revoked since: it holds for this request and is not remembered.
        if known.forgotten == forgotten {
            if known.by_hash.len() >= MOST {
                known.by_hash.clear();
            }
            known.by_hash.insert(hash.to_owned(), identity.clone());
        }
        Ok(Some(identity))
    }

    /// Whom a token speaks for, by its id: for what goes on in its name while nobody shows it.
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

    /// Whether it is not in a state without a way out.
    pub fn is_open(&self, entity: &Entity) -> bool {
        let law = self.runtime.law();
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        life.and_then(|it| it.state(&entity.state)).is_some_and(|it| !it.last)
    }

    /// Whether the token that it was made with, if there is one, is still good.
    fn is_backed(&self, entity: &Entity) -> Result<bool, Failure> {
        let Some(maker) = entity.fields.get("madeWith").and_then(Value::as_str) else { return Ok(true) };
        let maker = self.runtime.entity(&EntityKey::new(TOKEN, maker));
        let maker = maker.map_err(|it| Failure::Unavailable(it.to_string()))?;
        Ok(maker.is_some_and(|it| self.is_open(&it)))
    }

    /// Something happened: what was known of tokens may not be true any more.
    pub fn heard(&self, entries: &[Entry]) {
        let of_tokens = entries.iter().filter(|it| *it.entity.lifecycle == *TOKEN);
        let changed: Vec<&Name> = of_tokens.map(|it| &it.entity.id).collect();
        if changed.is_empty() {
            return;
        }
        // Others stay known, with what they have used up of their rate.
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let is_changed = |it: &Name| changed.contains(&it);
        known
            .by_hash
            .retain(|_, it| !is_changed(&it.token) && !it.made_with.as_ref().is_some_and(is_changed));
        known.forgotten += 1;
    }

    /// How often something happened to tokens: whoever goes by what was known looks again then.
    pub fn forgotten(&self) -> u64 {
        self.known.read().unwrap_or_else(PoisonError::into_inner).forgotten
    }

    /// Nothing is known of tokens until they are looked up again.
    pub fn forget(&self) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.by_hash.clear();
        known.forgotten += 1;
    }

    /// Makes a token; its text is not kept anywhere.
    pub async fn mint(
        &self,
        minting: Minting,
        used: Option<&KeyUse>,
    ) -> Result<(Secret, Arc<Entity>), AccessError> {
        let secret = Secret::new().ok_or(AccessError::NoRandomness)?;
        let names = |all: &[Name]| Value::list(all.iter().map(Value::from).collect());
        let mut fields = vec![
            ("holder", Value::from(&minting.holder)),
            ("kind", Value::text(minting.kind.as_str())),
            ("roles", names(&minting.roles)),
            ("for", names(&minting.on_behalf)),
            ("purpose", Value::text(minting.purpose)),
            ("hash", Value::text(&secret.hash)),
            ("mintedBy", Value::from(&minting.by)),
        ];
        if let Some(token) = &minting.made_with {
            fields.push(("madeWith", Value::from(token)));
        }
        if let Some(note) = &minting.note {
            fields.push(("note", Value::text(note)));
        }
        if let Some(expires) = minting.expires {
            fields.push(("expires", Value::Time(expires)));
        }
        let entity =
            self.create(EntityKey::new(TOKEN, secret.id.as_str()), fields, minting.by.clone(), used).await?;
        if minting.kind == ActorKind::Human {
            self.count_person(&minting.holder).await?;
        }
        Ok((secret, entity))
    }

    /// Makes a way in for a person, once; what comes of it ends at `until`, if not before.
    pub async fn link(
        &self,
        holder: Name,
        roles: &[Name],
        by: Name,
        until: Option<Timestamp>,
        used: Option<&KeyUse>,
    ) -> Result<(Secret, Arc<Entity>), AccessError> {
        let secret = Secret::new().ok_or(AccessError::NoRandomness)?;
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

    /// Takes a link; whom it lets in, the first time.
    pub async fn follow(&self, text: &str) -> Result<Option<LetIn>, AccessError> {
        let Some(id) = Secret::id_in(text) else { return Ok(None) };
        let key = EntityKey::new(LINK, id);
        let entity = self.runtime.entity(&key).map_err(|it| Failure::Unavailable(it.to_string()))?;
        let Some(entity) = entity.filter(|it| self.is_open(it)) else { return Ok(None) };
        if entity.fields.get("hash").and_then(Value::as_str) != Some(&hash_of(text)) {
            return Ok(None);
        }
        let mut follow = Command::fire(own(), key, "follow", Default::default());
        follow.request_id = request_id();
        match self.runtime.gateway()?.submit(follow)?.await? {
            Answer::Accepted(_) => {}
            Answer::Refused(_) | Answer::Replayed { .. } => return Ok(None),
        }
        let roles = entity.fields.value("roles");
        let roles = roles.as_list().unwrap_or_default().iter().filter_map(Value::as_str).map(Name::new);
        let (holder, until) = (entity.fields.value("holder"), entity.fields.get("until"));
        let until = until.and_then(Value::as_time);
        Ok(holder.as_str().map(|it| LetIn { holder: Name::new(it), roles: roles.collect(), until }))
    }

    async fn create(
        &self,
        key: EntityKey,
        fields: Vec<(&str, Value)>,
        by: Name,
        used: Option<&KeyUse>,
    ) -> Result<Arc<Entity>, AccessError> {
        let fields = fields.into_iter().collect();
        let mut command = Command::new(own(), Ask::Create { entity: key, fields });
        command.on_behalf_of = Some(by);
        command.request_id = request_id();
        match self.runtime.gateway()?.submit(under(used, None, command))?.await? {
            Answer::Accepted(accepted) => {
                accepted.entity.ok_or_else(|| AccessError::Refused("nothing was made".to_owned()))
            }
            Answer::Refused(refusal) => Err(match used {
                Some(used) if refusal.code == "idempotency-conflict" => {
                    AccessError::KeyUsed(used.key.clone())
                }
                _ => AccessError::Refused(refusal.detail.clone()),
            }),
            Answer::Replayed { first, root, .. } => Err(AccessError::Before(first + u64::from(root))),
        }
    }
}

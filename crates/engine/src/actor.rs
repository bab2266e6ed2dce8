//! The actor behind a command.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackside_lifecycle::name::Name;

use crate::key::EntityKey;

/// The id under which the engine and the program around it act.
pub const ENGINE: &str = "trackside";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    Human,
    Agent,
    System,
    /// A timer that was due.
    Timeout,
}

impl ActorKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::System => "system",
            Self::Timeout => "timeout",
        }
    }

    /// The kind of an actor who holds a token: all but timeouts.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Human, Self::Agent, Self::System].into_iter().find(|it| it.as_str() == word)
    }
}

/// How a person was authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialKind {
    /// The session of a browser.
    Page,
    /// The owner's credential, which commands use only at a terminal.
    Terminal,
    /// Any other token.
    Token,
    /// The session of a browser that an OpenID provider granted.
    Oidc,
    /// The reverse proxy in front of the server.
    Proxy,
}

impl CredentialKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Terminal => "terminal",
            Self::Token => "token",
            Self::Oidc => "oidc",
            Self::Proxy => "proxy",
        }
    }
}

/// The limits of the token of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunScope {
    /// The entity that the run works on.
    pub entity: EntityKey,
    pub run: Option<Name>,
}

/// A human, an agent or the system, with its roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    pub id: Name,
    pub kind: ActorKind,
    /// Bare, or with the pack before them: `lead`, `mission:lead`.
    pub roles: Arc<[Name]>,
    /// The actor on whose behalf it acts, if any.
    pub subject: Option<Name>,
    /// How a person was authenticated, if known. It does not affect the decision.
    pub via: Option<CredentialKind>,
    /// The limits of its token, if it is the token of a run.
    pub scope: Option<Arc<RunScope>>,
}

impl Actor {
    pub fn new(id: impl Into<Name>, kind: ActorKind) -> Self {
        Self { id: id.into(), kind, roles: Arc::default(), subject: None, via: None, scope: None }
    }

    /// The engine, and the program around it.
    pub fn engine() -> Self {
        Self::new(ENGINE, ActorKind::System)
    }

    /// The engine, when a timer is due.
    pub fn timer() -> Self {
        Self::new(ENGINE, ActorKind::Timeout)
    }

    pub fn with_roles(mut self, roles: impl IntoIterator<Item = impl Into<Name>>) -> Self {
        self.roles = roles.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the subject: the actor on whose behalf it acts.
    pub fn asking_for(mut self, subject: Option<Name>) -> Self {
        self.subject = subject;
        self
    }

    /// Sets how the person was authenticated.
    pub fn authenticated_by(mut self, via: Option<CredentialKind>) -> Self {
        self.via = via;
        self
    }

    /// Limits it to the entity of a run.
    pub fn limited_to(mut self, scope: Option<RunScope>) -> Self {
        self.scope = scope.map(Arc::new);
        self
    }

    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|it| it == role)
    }
}

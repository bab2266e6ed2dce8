//! Who asks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackside_lifecycle::name::Name;

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

/// Somebody, with the roles they hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    pub id: Name,
    pub kind: ActorKind,
    /// Bare, or with the pack before them: `lead`, `mission:lead`.
    pub roles: Arc<[Name]>,
    /// For whom it asks, where it asks for another.
    pub subject: Option<Name>,
}

impl Actor {
    pub fn new(id: impl Into<Name>, kind: ActorKind) -> Self {
        Self { id: id.into(), kind, roles: Arc::default(), subject: None }
    }

    pub fn with_roles(mut self, roles: impl IntoIterator<Item = impl Into<Name>>) -> Self {
        self.roles = roles.into_iter().map(Into::into).collect();
        self
    }

    /// The same, asking for another.
    pub fn asking_for(mut self, subject: Option<Name>) -> Self {
        self.subject = subject;
        self
    }

    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|it| it == role)
    }
}

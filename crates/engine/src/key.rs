//! The key of an entity.

use std::fmt;

use serde::{Deserialize, Serialize};
use trackside_lifecycle::name::Name;

/// An entity, by its lifecycle and its id.
#[derive(Clone, Debug, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(
    clippy::derived_hash_with_manual_eq,
    clippy::derive_ord_xor_partial_ord,
    reason = "the same equality, asked in another order"
)]
pub struct EntityKey {
    pub lifecycle: Name,
    pub id: Name,
}

impl PartialEq for EntityKey {
    /// Ids differ more often than lifecycles.
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.lifecycle == other.lifecycle
    }
}

impl EntityKey {
    pub fn new(lifecycle: impl Into<Name>, id: impl Into<Name>) -> Self {
        Self { lifecycle: lifecycle.into(), id: id.into() }
    }

    /// Reads `mission.task/T-1`.
    pub fn parse(text: &str) -> Option<Self> {
        let (lifecycle, id) = text.split_once('/')?;
        (!lifecycle.is_empty() && !id.is_empty()).then(|| Self::new(lifecycle, id))
    }
}

impl fmt::Display for EntityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.lifecycle, self.id)
    }
}

/// Ids are 1 to 128 of letters, digits, `.`, `_`, `@`, `-`, and `:` between a group and its member.
pub fn is_valid_id(id: &str) -> bool {
    (1..=128).contains(&id.len())
        && id.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_' | b'@' | b'-' | b':'))
}

/// A group: the entities that name `of` by a ref whose inverse is `name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupKey {
    pub of: EntityKey,
    pub name: Name,
}

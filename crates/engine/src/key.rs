//! The key of an entity.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use trackside_lifecycle::hex;
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

/// Most characters of an id.
const LONGEST_ID: usize = 128;
/// Hexadecimal digits of the hash in a shortened id.
const HASH_DIGITS: usize = 32;

/// Ids are 1 to 128 of letters, digits, `.`, `_`, `@`, `-`, and `:` between a group and its member.
pub fn is_valid_id(id: &str) -> bool {
    (1..=LONGEST_ID).contains(&id.len())
        && id.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_' | b'@' | b'-' | b':'))
}

/// The id of an entity that a rule creates or refers to, from the text that the rule computes. Characters that an id
/// cannot contain become dashes. A text that is too long keeps its beginning and ends in a hash of the whole text, so
/// that two long texts give two ids.
pub fn id_from_text(text: &str, joins: bool) -> String {
    let fits =
        |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '@' | '-') || (joins && it == ':');
    let legal = |most: usize| -> String {
        text.chars().map(|it| if fits(it) { it } else { '-' }).take(most).collect()
    };
    let id = legal(LONGEST_ID + 1);
    if id.len() <= LONGEST_ID {
        return id;
    }
    let hash = hex::encode(Sha256::digest(text.as_bytes()));
    let digits = hash.get(..HASH_DIGITS).unwrap_or(&hash);
    format!("{}.{digits}", legal(LONGEST_ID - HASH_DIGITS - 1))
}

/// A group: the entities that name `of` by a ref whose inverse is `name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupKey {
    pub of: EntityKey,
    pub name: Name,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_that_fits_stays_as_it_is() {
        let longest = "n".repeat(LONGEST_ID);
        for id in ["T-1.A1", "a_b@c", longest.as_str()] {
            assert_eq!(id_from_text(id, false), id);
        }
        assert_eq!(id_from_text("room:ada", true), "room:ada");
        assert_eq!(id_from_text("room:ada", false), "room-ada");
        assert_eq!(id_from_text("a b/ü", false), "a-b--");
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_ends_in_a_hash() {
        let id = id_from_text(&format!("{}.A1", "n".repeat(126)), false);
        assert_eq!(id, format!("{}.324afb876c08773e672992b1214d90aa", "n".repeat(95)));
    }

    proptest! {
        #[test]
        fn long_texts_give_ids_of_their_own(
            start in "[a-z:]{120,140}", one in "[ a-z0-9.é]{0,12}", other in "[ a-z0-9.é]{0,12}", joins: bool,
        ) {
            let (one, other) = (format!("{start}{one}"), format!("{start}{other}"));
            let (first, second) = (id_from_text(&one, joins), id_from_text(&other, joins));
            prop_assert!(is_valid_id(&first) && (joins || !first.contains(':')));
            prop_assert_eq!(&id_from_text(&first, joins), &first);
            if one.chars().count() > LONGEST_ID && other.chars().count() > LONGEST_ID {
                prop_assert_eq!(one == other, first == second);
            }
        }
    }
}

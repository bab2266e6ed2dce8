//! Secrets that are shown once. Only their hash is stored.

use sha2::{Digest as _, Sha256};
use trackside_lifecycle::hex;

/// A new secret.
pub(crate) struct Secret {
    /// The id under which its hash is stored.
    pub id: String,
    /// The text for its holder: `ts_ID_SECRET`.
    pub text: String,
    pub hash: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret {}", self.id)
    }
}

impl Secret {
    /// 256 random bits; none if the machine has no randomness.
    pub fn new() -> Option<Self> {
        let (mut id, mut secret) = ([0_u8; 6], [0_u8; 32]);
        getrandom::fill(&mut id).ok()?;
        getrandom::fill(&mut secret).ok()?;
        let id = hex::encode(id);
        let text = format!("ts_{id}_{}", hex::encode(secret));
        let hash = hash_of(&text);
        Some(Self { id, text, hash })
    }

    /// The id in the text of a token or link.
    pub fn id_in(text: &str) -> Option<&str> {
        let (id, secret) = text.strip_prefix("ts_")?.split_once('_')?;
        let is_hex = |it: &str| it.bytes().all(|it| it.is_ascii_hexdigit());
        (id.len() == 12 && secret.len() == 64 && is_hex(id) && is_hex(secret)).then_some(id)
    }
}

/// The hash that is stored.
pub(crate) fn hash_of(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_says_its_name_and_nothing_else_does() {
        let secret = Secret::new().unwrap();
        assert_eq!(Secret::id_in(&secret.text), Some(secret.id.as_str()));
        assert_eq!(secret.hash, hash_of(&secret.text));
        assert!(!secret.hash.contains(secret.text.get(16..).unwrap()));
        for other in ["", "ts_", "ts_1_2", "Bearer x", &secret.text[1..]] {
            assert_eq!(Secret::id_in(other), None, "{other}");
        }
    }
}

//! Secrets that are shown once. Only their hash is stored.

use sha2::{Digest as _, Sha256};
use trackside_lifecycle::hex;
use trackside_protocol::ISSUER_DIGITS;

/// A new secret.
pub(crate) struct Secret {
    /// The id under which its hash is stored.
    pub id: String,
    /// The text for its holder: `ts_ISSUER_ID_SECRET` for a token, `ts_ID_SECRET` for a link. Tokens of earlier
    /// releases have no issuer.
    pub text: String,
    pub hash: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret {}", self.id)
    }
}

impl Secret {
    /// 256 random bits; none if the machine has no randomness. `issuer` is the start of the server's fingerprint.
    pub fn new(issuer: Option<&str>) -> Option<Self> {
        let (mut id, mut secret) = ([0_u8; 6], [0_u8; 32]);
        getrandom::fill(&mut id).ok()?;
        getrandom::fill(&mut secret).ok()?;
        let id = hex::encode(id);
        let issuer = issuer.map(|it| format!("{it}_")).unwrap_or_default();
        let text = format!("ts_{issuer}{id}_{}", hex::encode(secret));
        let hash = hash_of(&text);
        Some(Self { id, text, hash })
    }

    /// The id in the text of a token or link.
    pub fn id_in(text: &str) -> Option<&str> {
        let text = text.strip_prefix("ts_")?;
        let (issuer, rest) = text.split_once('_')?;
        let (id, secret) = match rest.split_once('_') {
            Some(parts) if issuer.len() == ISSUER_DIGITS => parts,
            Some(_) => return None,
            None => (issuer, rest),
        };
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
        let secret = Secret::new(None).unwrap();
        assert_eq!(Secret::id_in(&secret.text), Some(secret.id.as_str()));
        assert_eq!(secret.hash, hash_of(&secret.text));
        let issuer = "0123456789abcdef0123456789abcdef";
        let issued = Secret::new(Some(issuer)).unwrap();
        assert_eq!(Secret::id_in(&issued.text), Some(issued.id.as_str()));
        assert_eq!(trackside_protocol::issuer_of(&issued.text), Some(issuer));
        assert_eq!(trackside_protocol::issuer_of(&secret.text), None);
        assert!(!secret.hash.contains(secret.text.get(16..).unwrap()));
        for other in ["", "ts_", "ts_1_2", "Bearer x", &secret.text[1..]] {
            assert_eq!(Secret::id_in(other), None, "{other}");
        }
    }
}

//! The identity of a server, and the part of it that tokens contain.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Digits of the fingerprint in a token. Enough that no other key with the same digits can be found.
pub const ISSUER_DIGITS: usize = 32;

/// Distinguishes these signatures from any others that the key may make.
const CONTEXT: &str = "trackside server identity v1";

/// The identity of a server, proven by a signature over the caller's nonce and the address that was called.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerIdentity {
    /// The Ed25519 public key, in hexadecimal.
    pub public_key: String,
    /// The SHA-256 of the public key, in hexadecimal.
    pub fingerprint: String,
    /// The addresses that the server listens on.
    pub addresses: Vec<String>,
    /// The address at which the server received this request. Behind a proxy it differs from the one that the client
    /// called.
    pub address: String,
    /// The signature over the context, the nonce and `address`, in hexadecimal.
    pub signature: String,
}

impl ServerIdentity {
    /// The text that the server signs.
    pub fn signed_text(nonce: &str, address: &str) -> Vec<u8> {
        format!("{CONTEXT}\n{nonce}\n{address}").into_bytes()
    }
}

/// The start of the fingerprint of the server that issued a token. None for tokens of releases that did not write it.
pub fn issuer_of(token: &str) -> Option<&str> {
    let mut parts = token.strip_prefix("ts_")?.split('_');
    let (issuer, id, secret) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |it: &str| it.bytes().all(|it| it.is_ascii_digit() || matches!(it, b'a'..=b'f'));
    let whole = issuer.len() == ISSUER_DIGITS && !id.is_empty() && !secret.is_empty();
    (whole && is_hex(issuer) && parts.next().is_none()).then_some(issuer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_issuer() {
        let issuer = "0123456789abcdef0123456789abcdef";
        assert_eq!(issuer_of(&format!("ts_{issuer}_0a_0b")), Some(issuer));
        for other in ["", "x", "ts_000000000000_00", &format!("ts_{issuer}_0a"), &format!("ts_{issuer}__")] {
            assert_eq!(issuer_of(other), None, "{other}");
        }
    }
}

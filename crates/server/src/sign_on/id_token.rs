//! Verifies ID tokens of an OpenID provider: signature, issuer, audience, times and nonce.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value as Json;

/// Seconds by which the clocks of the provider and of this machine may differ.
const LEEWAY: i64 = 60;

/// The public keys of a provider.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ProviderKeys {
    keys: Vec<ProviderKey>,
}

/// A public key. Keys of other kinds than RSA and P-256 are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ProviderKey {
    kid: Option<String>,
    kty: String,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

#[derive(Debug, Deserialize)]
struct TokenHeader {
    alg: String,
    kid: Option<String>,
    #[serde(default)]
    crit: Option<Json>,
}

/// What an ID token must say.
#[derive(Clone, Debug)]
pub(super) struct ExpectedClaims<'a> {
    pub issuer: &'a str,
    pub client: &'a str,
    pub nonce: &'a str,
    /// Seconds since 1970.
    pub now: i64,
}

/// Why an ID token is not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum IdTokenError {
    /// The provider may have new keys.
    UnknownKey,
    Invalid(String),
}

fn invalid(why: impl Into<String>) -> IdTokenError {
    IdTokenError::Invalid(why.into())
}

fn bytes(text: &str) -> Result<Vec<u8>, IdTokenError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid("it is not base64url"))
}

fn parsed<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, IdTokenError> {
    serde_json::from_slice(&bytes(text)?).map_err(|_| invalid("it is not JSON"))
}

/// The claims of an ID token that is genuine and meant for this sign-in.
pub(super) fn verify(
    token: &str,
    keys: &ProviderKeys,
    expected: &ExpectedClaims<'_>,
) -> Result<Json, IdTokenError> {
    let (signed, signature) = token.rsplit_once('.').ok_or_else(|| invalid("it has no signature"))?;
    let (header, claims) = signed.split_once('.').ok_or_else(|| invalid("it has no claims"))?;
    let header: TokenHeader = parsed(header)?;
    if header.crit.is_some() {
        return Err(invalid("it uses extensions that are not supported"));
    }
    keys.verify(&header, signed.as_bytes(), &bytes(signature)?)?;
    let claims: Json = parsed(claims)?;
    check(&claims, expected)?;
    Ok(claims)
}

impl ProviderKeys {
    fn verify(&self, header: &TokenHeader, signed: &[u8], signature: &[u8]) -> Result<(), IdTokenError> {
        let kind = match header.alg.as_str() {
            "RS256" => "RSA",
            "ES256" => "EC",
            other => return Err(invalid(format!("its algorithm {other} is not RS256 or ES256"))),
        };
        let fits = |key: &&ProviderKey| {
            key.kty == kind
                && key.purpose.as_deref().is_none_or(|it| it == "sig")
                && key.alg.as_ref().is_none_or(|it| *it == header.alg)
                && (header.kid.is_none() || key.kid == header.kid)
        };
        let mut fitting = self.keys.iter().filter(fits).peekable();
        if fitting.peek().is_none() {
            return Err(IdTokenError::UnknownKey);
        }
        match fitting.any(|it| it.has_signed(signed, signature)) {
            true => Ok(()),
            false => Err(invalid("its signature is wrong")),
        }
    }
}

impl ProviderKey {
    fn has_signed(&self, signed: &[u8], signature: &[u8]) -> bool {
        let part = |it: &Option<String>| it.as_deref().and_then(|it| bytes(it).ok());
        if self.kty == "RSA" {
            let (Some(n), Some(e)) = (part(&self.n), part(&self.e)) else { return false };
            let key = RsaPublicKeyComponents { n, e };
            return key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok();
        }
        let (Some(x), Some(y)) = (part(&self.x), part(&self.y)) else { return false };
        if self.crv.as_deref() != Some("P-256") || x.len() != 32 || y.len() != 32 {
            return false;
        }
        let point = [&[4], x.as_slice(), y.as_slice()].concat();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature).is_ok()
    }
}

fn check(claims: &Json, expected: &ExpectedClaims<'_>) -> Result<(), IdTokenError> {
    let text = |name: &str| claims.get(name).and_then(Json::as_str);
    let seconds = |name: &str| claims.get(name).and_then(Json::as_f64).map(|it| it as i64);
    if text("iss") != Some(expected.issuer) {
        return Err(invalid("another issuer made it"));
    }
    let audiences: Vec<&str> = match claims.get("aud") {
        Some(Json::String(one)) => vec![one.as_str()],
        Some(Json::Array(all)) => all.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    };
    let is_party = text("azp").is_none_or(|it| it == expected.client);
    let is_for_us = audiences.contains(&expected.client) && is_party;
    if !is_for_us || (audiences.len() > 1 && text("azp").is_none()) {
        return Err(invalid("it was made for another program"));
    }
    if seconds("exp").is_none_or(|it| it.saturating_add(LEEWAY) <= expected.now) {
        return Err(invalid("it has expired"));
    }
    let is_early = |name: &str| seconds(name).is_some_and(|it| it > expected.now.saturating_add(LEEWAY));
    if is_early("iat") || is_early("nbf") {
        return Err(invalid("it is not valid yet: compare the clocks of this machine and the provider"));
    }
    if text("nonce") != Some(expected.nonce) {
        return Err(invalid("it belongs to another sign-in"));
    }
    match text("sub").is_some_and(|it| !it.is_empty()) {
        true => Ok(()),
        false => Err(invalid("it names no person")),
    }
}

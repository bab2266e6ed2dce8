//! Sign-in with an OpenID provider: the authorization code flow with PKCE, state and nonce.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use foldhash::fast::RandomState;
use sha2::{Digest as _, Sha256};

use super::people_file::ExternalPerson;
use super::provider::{OidcOptions, Provider};

/// How long a person may take to sign in at the provider.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Most sign-ins that are under way; beyond it the oldest is forgotten.
const MOST: usize = 10_000;

/// A sign-in that is under way at the provider.
#[derive(Debug)]
struct PendingSignIn {
    nonce: String,
    verifier: String,
    /// The hash of the secret in the browser's cookie.
    browser: String,
    redirect: String,
    begun: Instant,
}

/// A sign-in that begins: the address to go to, and the secret for the browser's cookie.
#[derive(Debug)]
pub(crate) struct OidcStart {
    pub url: String,
    pub browser: String,
}

/// An OpenID provider, and the sign-ins that are under way there.
#[derive(Debug)]
pub(crate) struct Oidc {
    provider: Provider,
    pending: Mutex<HashMap<String, PendingSignIn, RandomState>>,
}

/// 256 random bits as text.
fn random() -> Result<String, String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|_| "the system has no source of randomness".to_owned())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn hashed(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text.as_bytes()))
}

impl Oidc {
    pub fn new(options: OidcOptions) -> Result<Self, String> {
        Ok(Self { provider: Provider::new(options)?, pending: Mutex::default() })
    }

    /// Begins a sign-in. The provider sends the browser back to `redirect`.
    pub async fn begin(&self, redirect: String) -> Result<OidcStart, String> {
        let (state, nonce, verifier, browser) = (random()?, random()?, random()?, random()?);
        let OidcOptions { client_id, scopes, .. } = &self.provider.options;
        let (scopes, challenge) = (format!("openid {scopes}"), hashed(&verifier));
        let parameters = [
            ("response_type", "code"),
            ("client_id", client_id.as_str()),
            ("redirect_uri", redirect.as_str()),
            ("scope", scopes.trim()),
            ("state", state.as_str()),
            ("nonce", nonce.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        let url = self.provider.authorization_url(&parameters).await?;
        let one =
            PendingSignIn { nonce, verifier, browser: hashed(&browser), redirect, begun: Instant::now() };
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.retain(|_, it| it.begun.elapsed() < PATIENCE);
        if pending.len() >= MOST
            && let Some(oldest) =
                pending.iter().min_by_key(|(_, it)| it.begun).map(|(state, _)| state.clone())
        {
            pending.remove(&oldest);
        }
        pending.insert(state, one);
        Ok(OidcStart { url, browser })
    }

    /// Completes a sign-in that began in the same browser. Each can be completed once.
    pub async fn complete(
        &self,
        state: &str,
        code: &str,
        browser: Option<&str>,
    ) -> Result<ExternalPerson, String> {
        let begun = self.pending.lock().unwrap_or_else(PoisonError::into_inner).remove(state);
        let begun = begun.filter(|it| it.begun.elapsed() < PATIENCE);
        let Some(begun) = begun.filter(|it| browser.map(hashed) == Some(it.browser.clone())) else {
            return Err(
                "this sign-in took too long, was completed before, or began in another browser".to_owned()
            );
        };
        let claims = self.provider.claims(code, &begun.verifier, &begun.redirect, &begun.nonce).await?;
        self.provider.options.people.by_claims(&claims)
    }
}

//! Talks to an OpenID provider: its addresses, its keys, the exchange of a code for an ID token, and user info.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use axum::http::{Request, StatusCode, Uri, header, request};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use form_urlencoded::{Serializer, byte_serialize};
use http_body_util::Full;
use serde::Deserialize;
use serde_json::Value as Json;

use super::id_token::{ExpectedClaims, IdTokenError, ProviderKeys, verify};
use super::people_file::PeopleFile;
use crate::webhooks::{WebhookOptions, WebhookSender, WebhookTarget};

/// Most bytes of an answer of the provider.
const MOST: usize = 1024 * 1024;
/// How long the provider's addresses and keys are used before they are read again.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// The shortest time between two attempts to find an unknown key.
const AGAIN: Duration = Duration::from_secs(10);
/// The longest time that the provider may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sign-in of people with an OpenID provider.
#[derive(Clone)]
pub struct OidcOptions {
    /// The URL of the provider, exactly as it names itself.
    pub issuer: String,
    pub client_id: String,
    /// None for a public client.
    pub client_secret: Option<String>,
    /// Scopes besides `openid`, separated by blanks.
    pub scopes: String,
    /// Who may sign in.
    pub people: PeopleFile,
    /// A PEM file with certificate authorities to trust besides the built-in ones.
    pub trust: Option<std::path::PathBuf>,
}

impl std::fmt::Debug for OidcOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OidcOptions of {}", self.issuer)
    }
}

/// The addresses of a provider, from its discovery document.
#[derive(Clone, Debug, Deserialize)]
struct ProviderAddresses {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

/// Addresses and keys, and when they were read.
#[derive(Clone, Debug)]
struct ProviderState {
    addresses: ProviderAddresses,
    keys: ProviderKeys,
    read: Instant,
}

#[derive(Debug, Deserialize)]
struct TokenAnswer {
    id_token: String,
    access_token: Option<String>,
}

/// An OpenID provider.
#[derive(Debug)]
pub(super) struct Provider {
    pub options: OidcOptions,
    /// For the provider's own host, which may be in a private network.
    own: WebhookSender,
    /// For other hosts that its discovery document names.
    others: WebhookSender,
    host: String,
    state: Mutex<Option<Arc<ProviderState>>>,
    /// When the keys were last read because one was unknown.
    refreshed: Mutex<Option<Instant>>,
}

impl Provider {
    /// Checks the configuration. Nothing is sent yet.
    pub fn new(options: OidcOptions) -> Result<Self, String> {
        let wrong = |why: &str| format!("--oidc-issuer {}: {why}", options.issuer);
        let uri: Uri = options.issuer.parse().map_err(|_| wrong("it is not a URL"))?;
        let host = uri.host().unwrap_or_default().to_owned();
        let is_loopback = matches!(host.as_str(), "127.0.0.1" | "localhost" | "[::1]");
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_loopback => {}
            _ => {
                return Err(wrong(
                    "it must begin with https://. Only a provider on this machine may use http",
                ));
            }
        }
        let mut http = WebhookOptions { patience: PATIENCE, ..WebhookOptions::default() };
        if let Some(file) = &options.trust {
            http.trust(file)?;
        }
        let own = WebhookSender::new(&WebhookOptions { allow_private: true, ..http.clone() });
        let others = WebhookSender::new(&http);
        Ok(Self { own, others, host, state: Mutex::default(), refreshed: Mutex::default(), options })
    }

    /// The address at which a person signs in.
    pub async fn authorization_url(&self, parameters: &[(&str, &str)]) -> Result<String, String> {
        let state = self.state(None).await?;
        let address = &state.addresses.authorization_endpoint;
        let query = Serializer::new(String::new()).extend_pairs(parameters).finish();
        let joint = if address.contains('?') { '&' } else { '?' };
        Ok(format!("{address}{joint}{query}"))
    }

    /// Exchanges a code for the claims about the person.
    pub async fn claims(
        &self,
        code: &str,
        verifier: &str,
        redirect: &str,
        nonce: &str,
    ) -> Result<Json, String> {
        let state = self.state(None).await?;
        let request = self.token_request(&state.addresses, code, verifier, redirect)?;
        let (target, request) = request;
        let body = self.send(&target, request).await?;
        let answer: TokenAnswer =
            serde_json::from_slice(&body).map_err(|_| "the provider's answer has no ID token".to_owned())?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let expected = ExpectedClaims {
            issuer: &self.options.issuer,
            client: &self.options.client_id,
            nonce,
            now: i64::try_from(now).unwrap_or(i64::MAX),
        };
        let outcome = match verify(&answer.id_token, &state.keys, &expected) {
            // The provider may have changed its keys.
            Err(IdTokenError::UnknownKey) if self.may_refresh() => {
                let state = self.state(Some(state.read)).await?;
                verify(&answer.id_token, &state.keys, &expected)
            }
            outcome => outcome,
        };
        let mut claims = outcome.map_err(|error| match error {
            IdTokenError::UnknownKey => {
                "the ID token is signed with a key that the provider does not publish".to_owned()
            }
            IdTokenError::Invalid(why) => format!("the ID token is not accepted: {why}"),
        })?;
        if let (false, Some(address), Some(access)) = (
            self.options.people.has_needed_claims(&claims),
            &state.addresses.userinfo_endpoint,
            &answer.access_token,
        ) {
            self.add_user_info(&mut claims, address, access).await?;
        }
        Ok(claims)
    }

    /// Adds claims that the ID token lacks. In the code flow, many providers put only the subject into the ID token.
    async fn add_user_info(&self, claims: &mut Json, address: &str, access: &str) -> Result<(), String> {
        let request = with_host(Request::get(path_of(address)?), address)?
            .header(header::ACCEPT, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {access}"))
            .body(Full::default());
        let body = self.send(address, request.map_err(|it| it.to_string())?).await?;
        let info: serde_json::Map<String, Json> = serde_json::from_slice(&body)
            .map_err(|_| "the provider's user info cannot be read: it is not a JSON object".to_owned())?;
        // An access token of another person would give that person's rights.
        if info.get("sub").is_none_or(|it| Some(it) != claims.get("sub")) {
            return Err("the provider's user info is about another person".to_owned());
        }
        if let Some(claims) = claims.as_object_mut() {
            for (name, value) in info {
                claims.entry(name).or_insert(value);
            }
        }
        Ok(())
    }

    /// Whether the keys may be read again now because one is unknown. Limited, because every client can send unknown keys.
    fn may_refresh(&self) -> bool {
        let mut refreshed = self.refreshed.lock().unwrap_or_else(PoisonError::into_inner);
        let may = refreshed.is_none_or(|it| it.elapsed() >= AGAIN);
        if may {
            *refreshed = Some(Instant::now());
        }
        may
    }

    fn token_request(
        &self,
        addresses: &ProviderAddresses,
        code: &str,
        verifier: &str,
        redirect: &str,
    ) -> Result<(String, Request<Full<Bytes>>), String> {
        let OidcOptions { client_id, client_secret, .. } = &self.options;
        let mut form = Serializer::new(String::new());
        form.extend_pairs([
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect),
            ("client_id", client_id),
            ("code_verifier", verifier),
        ]);
        let methods = &addresses.token_endpoint_auth_methods_supported;
        let in_body = !methods.is_empty() && !methods.iter().any(|it| it == "client_secret_basic");
        let mut request = Request::post(path_of(&addresses.token_endpoint)?)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        match client_secret {
            Some(secret) if in_body => {
                form.append_pair("client_secret", secret);
            }
            Some(secret) => {
                let encoded = |it: &str| byte_serialize(it.as_bytes()).collect::<String>();
                let both = STANDARD.encode(format!("{}:{}", encoded(client_id), encoded(secret)));
                request = request.header(header::AUTHORIZATION, format!("Basic {both}"));
            }
            None => {}
        }
        let body = Full::from(form.finish());
        let request =
            with_host(request, &addresses.token_endpoint)?.body(body).map_err(|it| it.to_string())?;
        Ok((addresses.token_endpoint.clone(), request))
    }

    /// Addresses and keys; read again if they are old, or not newer than `stale`.
    async fn state(&self, stale: Option<Instant>) -> Result<Arc<ProviderState>, String> {
        let known = self.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) =
            known.filter(|it| it.read.elapsed() < FRESH && stale.is_none_or(|at| it.read > at))
        {
            return Ok(known);
        }
        let discovery =
            format!("{}/.well-known/openid-configuration", self.options.issuer.trim_end_matches('/'));
        let addresses: ProviderAddresses = serde_json::from_slice(&self.get(&discovery).await?)
            .map_err(|it| format!("{discovery} cannot be read: {it}"))?;
        if addresses.issuer != self.options.issuer {
            return Err(format!("{discovery} is about another issuer, {}", addresses.issuer));
        }
        self.check_address(&addresses.authorization_endpoint)?;
        let keys: ProviderKeys = serde_json::from_slice(&self.get(&addresses.jwks_uri).await?)
            .map_err(|it| format!("{} cannot be read: {it}", addresses.jwks_uri))?;
        let state = Arc::new(ProviderState { addresses, keys, read: Instant::now() });
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state.clone());
        Ok(state)
    }

    async fn get(&self, url: &str) -> Result<Bytes, String> {
        let request = with_host(Request::get(path_of(url)?), url)?;
        let request = request.header(header::ACCEPT, "application/json").body(Full::default());
        self.send(url, request.map_err(|it| it.to_string())?).await
    }

    /// Checks that an address of the provider has the scheme of its issuer.
    fn check_address(&self, url: &str) -> Result<(), String> {
        let scheme = |it: &str| it.split_once("://").map(|(scheme, _)| scheme.to_owned());
        match scheme(url).as_deref() == Some("https") || scheme(url) == scheme(&self.options.issuer) {
            true => Ok(()),
            false => Err(format!("the provider names {url}, which does not begin with https://")),
        }
    }

    async fn send(&self, url: &str, request: Request<Full<Bytes>>) -> Result<Bytes, String> {
        self.check_address(url)?;
        let is_own =
            url.parse::<Uri>().ok().and_then(|it| it.host().map(str::to_owned)) == Some(self.host.clone());
        let target = WebhookTarget::parse(url, is_own).map_err(|why| format!("{url}: {why}"))?;
        let sender = if is_own { &self.own } else { &self.others };
        let (status, body) = sender.exchange(&target, request, MOST).await?;
        match status {
            StatusCode::OK => Ok(body),
            other => {
                let error: Option<Json> = serde_json::from_slice(&body).ok();
                let error = error.as_ref().and_then(|it| it.get("error")).and_then(Json::as_str);
                Err(format!("the provider answered {other} {}", error.unwrap_or_default()).trim().to_owned())
            }
        }
    }
}

/// The path and query of a URL.
fn path_of(url: &str) -> Result<String, String> {
    let uri: Uri = url.parse().map_err(|_| format!("{url} is not a URL"))?;
    Ok(uri.path_and_query().map_or("/", |it| it.as_str()).to_owned())
}

fn with_host(request: request::Builder, url: &str) -> Result<request::Builder, String> {
    let uri: Uri = url.parse().map_err(|_| format!("{url} is not a URL"))?;
    let host = uri.authority().map(|it| it.as_str().to_owned()).unwrap_or_default();
    let agent = concat!("trackside/", env!("CARGO_PKG_VERSION"));
    Ok(request
        .header(header::HOST, host)
        .header(header::USER_AGENT, agent)
        .header(header::CONNECTION, "close"))
}

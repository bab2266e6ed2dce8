//! The cookies of browsers. Their names contain the start of the server's fingerprint, because browsers send a cookie to
//! every port of a host: servers on other ports have other names. Over TLS the prefix `__Host-` keeps other hosts and
//! plain HTTP from setting them.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use crate::app::App;
use crate::sign_on::Forwarded;

/// Digits of the fingerprint in a name.
const DIGITS: usize = 8;

/// Whether the browser reached the server by TLS: directly, or as a trusted proxy says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SecureTransport(pub bool);

impl FromRequestParts<App> for SecureTransport {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        Ok(Self::of(parts, app))
    }
}

impl SecureTransport {
    pub fn of(parts: &Parts, app: &App) -> Self {
        let forwarded = parts.extensions.get::<Forwarded>().is_some_and(|it| it.is_tls);
        Self(app.options.tls.is_some() || forwarded)
    }

    /// The URL scheme.
    pub fn scheme(self) -> &'static str {
        if self.0 { "https" } else { "http" }
    }

    /// The name of the cookie with the session.
    pub fn session_name(self, app: &App) -> String {
        self.name(app, "session")
    }

    /// The name of the cookie of a sign-in that is under way at the OpenID provider.
    pub fn oidc_name(self, app: &App) -> String {
        self.name(app, "oidc")
    }

    /// The name of the cookie with the page to return to after signing in.
    pub fn return_name(self, app: &App) -> String {
        self.name(app, "return")
    }

    fn name(self, app: &App, purpose: &str) -> String {
        let prefix = if self.0 { "__Host-" } else { "" };
        format!("{prefix}trackside_{purpose}_{}", app.key.issuer().get(..DIGITS).unwrap_or_default())
    }

    /// The `Set-Cookie` for a cookie; an age of 0 removes it.
    pub fn set(self, name: &str, value: &str, same_site: &str, seconds: i64) -> String {
        let secure = if self.0 { "; Secure" } else { "" };
        format!("{name}={value}; Path=/; HttpOnly; SameSite={same_site}; Max-Age={seconds}{secure}")
    }
}

/// The value of a cookie.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok());
    let mut pairs = lines.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
    pairs.find(|(it, _)| *it == name).map(|(_, value)| value)
}

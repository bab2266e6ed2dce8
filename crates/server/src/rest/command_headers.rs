//! The headers of a command: its idempotency key, and the version it is meant for.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use trackside_lifecycle::name::Name;

use super::KeyUse;
use crate::app::App;
use crate::problem::Refused;

/// The longest idempotency key.
const LONGEST: usize = 255;

/// The headers of a command.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandHeaders {
    pub key: Option<Name>,
    /// The key with its request; none in a dry run and over MCP.
    pub used: Option<KeyUse>,
    /// `If-Match`.
    pub if_version: Option<u64>,
}

impl CommandHeaders {
    /// Reads them from the arguments of an MCP tool.
    pub fn from_arguments(key: Option<&str>, if_version: Option<u64>) -> Result<Self, Refused> {
        let key = key.map(|it| check_key(it, "idempotencyKey")).transpose()?.map(Name::new);
        Ok(Self { key, used: None, if_version })
    }
}

impl FromRequestParts<App> for CommandHeaders {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Refused> {
        let (key, used) = (idempotency_key(&parts.headers)?, parts.extensions.get().cloned());
        Ok(Self { key, used, if_version: version(&parts.headers)? })
    }
}

/// The key that a request was sent with, in either header.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<Name>, Refused> {
    let mut found: Option<&str> = None;
    for name in ["idempotency-key", "x-idempotency-key"] {
        for value in headers.get_all(name) {
            let value = value.to_str().map(|it| it.trim().trim_matches('"')).unwrap_or_default();
            let value = check_key(value, "Idempotency-Key")?;
            if found.is_some_and(|it| it != value) {
                let detail = "There are two idempotency keys: send one of the headers";
                return Err(Refused::parameter("Idempotency-Key", detail));
            }
            found = Some(value);
        }
    }
    Ok(found.map(Name::new))
}

fn check_key<'k>(key: &'k str, place: &str) -> Result<&'k str, Refused> {
    let visible = key.bytes().all(|it| it.is_ascii_graphic());
    if key.is_empty() || key.len() > LONGEST || !visible {
        let detail = format!("An idempotency key is 1 to {LONGEST} visible ASCII characters, without blanks");
        return Err(Refused::parameter(place, detail));
    }
    Ok(key)
}

fn version(headers: &HeaderMap) -> Result<Option<u64>, Refused> {
    let Some(value) = headers.get("if-match") else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let number = text.trim_matches('"').parse();
    let detail =
        "If-Match must be the version that was read, as in `If-Match: \"3\"`, and not a weak tag `W/…`";
    number.map(Some).map_err(|_| Refused::parameter("If-Match", detail))
}

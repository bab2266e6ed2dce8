//! Extractors for bodies and query parameters.

use std::pin::Pin;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header;
use axum::http::request::Parts;
use futures_core::Stream as _;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value as Json};
use trackside_engine::fields::Fields;
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use trackside_protocol::{ProblemCode, find_mistake};

use super::query_string::{ParameterError, from_query};
use crate::app::App;
use crate::limits::is_too_deep;
use crate::problem::Refused;

/// A JSON body. An empty body and `null` count as `{}`.
#[derive(Clone, Debug)]
pub(crate) struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refused> {
        let (is_json, bytes) = received(request, app.limits().body).await?;
        read(is_json, &bytes, app.limits().depth).map(Self)
    }
}

/// A JSON body that must be an object, even an empty one.
#[derive(Clone, Debug)]
pub(crate) struct Required<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Required<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refused> {
        let (is_json, bytes) = received(request, app.limits().body).await?;
        if matches!(bytes.trim_ascii(), b"" | b"null") {
            return Err(Refused::shape("The body is missing: it must be an object, as in `{}`"));
        }
        read(is_json, &bytes, app.limits().depth).map(Self)
    }
}

/// A JSON body with the larger limit of artifacts.
#[derive(Clone, Debug)]
pub(crate) struct Large<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Large<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refused> {
        let (is_json, bytes) = received(request, app.limits().artifact).await?;
        read(is_json, &bytes, app.limits().depth).map(Self)
    }
}

/// The bytes of a body within a limit, and whether its type is JSON.
async fn received(request: Request, most: usize) -> Result<(bool, Vec<u8>), Refused> {
    Ok((is_json(&request), whole(request.into_body(), most).await?))
}

fn is_json(request: &Request) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    kind.is_none_or(|it| {
        let kind = it.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        kind == "application/json" || kind.ends_with("+json")
    })
}

fn read<T: DeserializeOwned>(is_json: bool, bytes: &[u8], depth: usize) -> Result<T, Refused> {
    if bytes.is_empty() {
        return parse(b"{}");
    }
    if !is_json {
        let detail = "The body must be JSON: send it with `Content-Type: application/json`";
        return Err(Refused::new(ProblemCode::NotJson, detail));
    }
    if is_too_deep(bytes, depth) {
        return Err(Refused::shape(format!("The body has more than {depth} levels")));
    }
    parse(bytes)
}

/// The largest body that is read to its end although it is refused: a client that is still sending when the connection
/// closes may never see why.
const DISCARDED: usize = 64 << 20;

/// Reads a whole body within a limit.
pub(crate) async fn whole(body: axum::body::Body, most: usize) -> Result<Vec<u8>, Refused> {
    let mut stream = body.into_data_stream();
    let (mut all, mut length) = (Vec::new(), 0_usize);
    while let Some(piece) = std::future::poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
        let piece = piece.map_err(|_| Refused::shape("The body could not be read. Send it again"))?;
        length = length.saturating_add(piece.len());
        match length {
            _ if length > most.max(DISCARDED) => return Err(too_large(most)),
            _ if length > most => all = Vec::new(),
            _ => all.extend_from_slice(&piece),
        }
    }
    if length > most { Err(too_large(most)) } else { Ok(all) }
}

pub(crate) fn too_large(most: usize) -> Refused {
    let detail = format!("The body is larger than {most} bytes, which is the limit here");
    Refused::new(ProblemCode::TooLarge, detail)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refused> {
    let bytes = if bytes.trim_ascii() == b"null" { b"{}" } else { bytes };
    // serde would accept a list as the members in order.
    let is_object = bytes.trim_ascii_start().first().is_none_or(|it| *it == b'{');
    if !is_object && serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
        return Err(Refused::shape("The body has the wrong shape: it must be an object, as in `{}`"));
    }
    let body = serde_json::from_slice(bytes).map_err(|error| {
        let what = if error.is_data() { "has the wrong shape" } else { "is not JSON" };
        Refused::shape(format!("The body {what}: {error}"))
    })?;
    check_strictly(bytes)?;
    Ok(body)
}

/// Refuses keys that are there twice, and integers that would lose digits. The text must be JSON.
pub(crate) fn check_strictly(bytes: &[u8]) -> Result<(), Refused> {
    match find_mistake(bytes) {
        Some(mistake) => Err(Refused::shape(format!("The body is ambiguous: {mistake}"))),
        None => Ok(()),
    }
}

/// Query parameters.
#[derive(Clone, Debug)]
pub(crate) struct Parameters<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<App> for Parameters<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Refused> {
        let query = parts.uri.query().unwrap_or_default();
        from_query(query).map(Self).map_err(wrong_parameter)
    }
}

/// The problem for parameters that a route does not have: names each, and the parameters that exist.
pub(crate) fn unknown_parameters<K: AsRef<str>>(route: &str, unknown: &[String], known: &[K]) -> Refused {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let exist = match known.is_empty() {
        true => "It takes no parameters".to_owned(),
        false => format!("Its parameters are {}", known.join(", ")),
    };
    let message = |name: &String| {
        let meant = nearest(name, known.iter().copied()).map(|it| format!(" Did you mean {it}?"));
        let no_trial = if name == "dryRun" { " It cannot be tried out." } else { "" };
        format!("{route} has no parameter `{name}`.{}{no_trial} {exist}", meant.unwrap_or_default())
    };
    let detail = unknown.iter().map(message).collect::<Vec<_>>().join(". ");
    let mut refused = Refused::new(ProblemCode::InvalidParameter, detail);
    refused.0.errors = unknown
        .iter()
        .flat_map(|name| {
            let mut errors = Refused::parameter(name, message(name)).0.errors;
            errors.truncate(1);
            errors
        })
        .collect();
    refused
}

/// The problem for a wrong parameter.
fn wrong_parameter(error: ParameterError) -> Refused {
    match error {
        ParameterError::Unknown { name, expected } => unknown_parameters("This route", &[name], expected),
        ParameterError::Invalid { name, why } => {
            let detail = match name.as_str() {
                "limit" => "limit must be 1 to 200".to_owned(),
                "after" | "at" | "seq" => format!("{name} must be the number of a journal entry, 0 or more"),
                _ => format!("{name} is invalid: {why}"),
            };
            Refused::parameter(&name, detail)
        }
        ParameterError::Other(why) => Refused::new(ProblemCode::InvalidParameter, why),
    }
}

/// JSON members as engine fields.
pub(crate) fn fields(sent: &Map<String, Json>) -> Fields {
    let mut fields = Fields::default();
    for (name, value) in sent {
        fields.put(&Name::new(name), Value::from_json(value));
    }
    fields
}

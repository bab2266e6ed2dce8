//! What a request brings, or what is wrong with it.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use trackside_engine::fields::Fields;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::app::App;
use crate::limits::is_too_deep;
use crate::problem::Refused;

/// A JSON body of a known shape. Nothing at all counts as `{}`.
#[derive(Clone, Debug)]
pub(crate) struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refused> {
        let limits = app.options.limits;
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let is_json = kind.is_none_or(|it| {
            let kind = it.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            kind == "application/json" || kind.ends_with("+json")
        });
        let bytes = Bytes::from_request(request, app).await.map_err(|error| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => too_large(limits.body),
            _ => Refused::shape("The body could not be read: send it again"),
        })?;
        if bytes.len() > limits.body {
            return Err(too_large(limits.body));
        }
        if bytes.is_empty() {
            return parse(b"{}").map(Self);
        }
        if !is_json {
            let detail = "The body must be JSON: send it with `Content-Type: application/json`";
            return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", detail));
        }
        if is_too_deep(&bytes, limits.depth) {
            return Err(Refused::shape(format!("The body has more than {} levels", limits.depth)));
        }
        parse(&bytes).map(Self)
    }
}

pub(crate) fn too_large(most: usize) -> Refused {
    let detail = format!("The body is larger than {most} bytes, which is the limit here");
    Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refused> {
    // A list would be taken for the members in their order.
    let first = bytes.iter().find(|it| !it.is_ascii_whitespace());
    if first.is_some_and(|it| *it == b'[') {
        return Err(Refused::shape("The body has the wrong shape: it must be an object, as in `{}`"));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let what = if error.is_data() { "has the wrong shape" } else { "is not JSON" };
        Refused::shape(format!("The body {what}: {error}"))
    })
}

/// What stands behind the question mark.
#[derive(Clone, Debug)]
pub(crate) struct Parameters<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<App> for Parameters<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Refused> {
        let query = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        let refused = |error: axum::extract::rejection::QueryRejection| {
            Refused::new(StatusCode::BAD_REQUEST, "invalid-parameter", error.body_text())
        };
        query.map(|it| Self(it.0)).map_err(refused)
    }
}

/// Fields as the engine knows them.
pub(crate) fn fields(sent: &Map<String, Json>) -> Fields {
    let mut fields = Fields::default();
    for (name, value) in sent {
        fields.put(&Name::new(name), Value::from_json(value));
    }
    fields
}

//! MCP at `/mcp`: the same doors as over HTTP, as a small set of tools for agents.
//!
//! There are no sessions: every request shows its token, and an actor is who that token says.

mod args;
mod desk;
mod moves;
mod naming;
mod reading;
mod schema;
mod ticket;
mod told;
mod tools;
mod wait;
mod work;

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::IgnoredAny;
use serde_json::json;
use trackside_protocol::Problem;

use crate::app::App;
use crate::auth::Caller;
use crate::limits::is_too_deep;
use crate::problem::Refused;
use crate::rest::whole;
use crate::serve::is_our_name;
use crate::watch::{Current, current};
use desk::Desk;
pub use tools::TOOLS;

/// Where it is.
pub(crate) const PATH: &str = "/mcp";
/// Most bytes of a refusal of the protocol's own that are looked at.
const WORDS: usize = 4 * 1024;

pub(crate) type Endpoint = StreamableHttpService<Desk, NeverSessionManager>;

/// Who asks, and the request in which that was said: calls are answered on tasks of their own.
#[derive(Clone, Debug)]
struct Asker {
    caller: Caller,
    request: Option<Arc<Current>>,
}

impl Asker {
    /// Does something for this request.
    async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.request {
            Some(request) => request.clone().during(work).await,
            None => work.await,
        }
    }
}

/// The door: whoever has a token comes in.
pub(crate) fn door(app: &App) -> MethodRouter<App> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // Who may reach us is looked at before, for every route alike.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        // What is handed on was read within the limit that holds by then.
        .with_max_request_body_bytes(usize::MAX);
    let desk = Desk::new(app.clone());
    let service: Endpoint = StreamableHttpService::new(
        move || Ok(desk.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    any(move |State(app): State<App>, caller: Caller, request: Request| {
        let service = service.clone();
        async move { asked(&app, &service, caller, request).await.unwrap_or_else(Refused::into_response) }
    })
}

/// The tools for agents: JSON-RPC of the Model Context Protocol, one message a request.
#[utoipa::path(
    post, path = "/mcp", tag = "doors", operation_id = "mcp", request_body = Object,
    responses(
        (status = 200, body = Object, description = "The answer to a call, or an error of the protocol."),
        (status = 202, description = "A message that is not answered."),
        (status = 400, description = "No message of the protocol: -32700 where it is no JSON, else -32600.",
            content((Object = "application/json"), (Problem = "application/problem+json"))),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn asked(
    app: &App,
    service: &Endpoint,
    caller: Caller,
    request: Request,
) -> Result<Response, Refused> {
    must_be_no_foreign_page(app, request.headers())?;
    let (mut parts, body) = request.into_parts();
    // The token has done its part: what goes on from here cannot tell it.
    parts.headers.remove(header::AUTHORIZATION);
    parts.headers.remove(header::COOKIE);
    parts.extensions.insert(Asker { caller, request: current() });
    let limits = app.limits();
    let bytes = whole(body, limits.body).await?;
    if is_too_deep(&bytes, limits.depth) {
        return Err(Refused::shape(format!("The body has more than {} levels", limits.depth)));
    }
    let is_json = parts.method == Method::POST && says_json(&parts.headers);
    if is_json && let Err(error) = serde_json::from_slice::<IgnoredAny>(&bytes) {
        return Ok(no_message(-32_700, &format!("Parse error: {error}")));
    }
    let answer = service.handle(Request::from_parts(parts, Body::from(bytes))).await;
    // JSON that is no message has the right type all the same.
    if is_json && answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return Ok(no_message(
            -32_600,
            "Invalid Request: this is no message of JSON-RPC 2.0 that can be asked here",
        ));
    }
    in_words(answer.map(Body::new)).await
}

/// Whether a body is said to be JSON.
fn says_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|it| it.trim().eq_ignore_ascii_case("application/json"))
}

/// An error of the protocol about something that has no id.
fn no_message(code: i32, message: &str) -> Response {
    let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } });
    (StatusCode::BAD_REQUEST, Json(error)).into_response()
}

/// A browser says which page asks: only one of ours may.
fn must_be_no_foreign_page(app: &App, headers: &HeaderMap) -> Result<(), Refused> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let host = origin.to_str().ok().and_then(|it| it.split_once("://")).map(|(_, host)| host);
    if host.is_some_and(|it| is_our_name(app, it)) {
        return Ok(());
    }
    let detail = "A page of another site may not ask here. Programs send no Origin, or one of this server";
    Err(Refused::forbidden(detail, "programs, and pages of this server"))
}

/// What the protocol turns down in plain words has our form; what is JSON is its own.
async fn in_words(answer: Response) -> Result<Response, Refused> {
    let status = answer.status();
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    if !status.is_client_error() || kind.is_some_and(|it| it.starts_with("application/json")) {
        return Ok(answer);
    }
    let allow = answer.headers().get(header::ALLOW).cloned();
    let text = to_bytes(answer.into_body(), WORDS).await.unwrap_or_default();
    let detail = match status {
        StatusCode::METHOD_NOT_ALLOWED => {
            "MCP is asked with POST: there is no stream to open here".to_owned()
        }
        _ => String::from_utf8_lossy(&text).into_owned(),
    };
    let mut refused = Refused::new(status, "invalid-request", detail).into_response();
    if let Some(allow) = allow {
        refused.headers_mut().insert(header::ALLOW, allow);
    }
    Ok(refused)
}

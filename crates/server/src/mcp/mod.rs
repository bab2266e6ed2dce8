//! MCP at `/mcp`: the operations of the HTTP API as a small set of tools for agents.
//!
//! There are no sessions: every request has its own token.

mod actor_fields;
mod args;
mod explaining;
mod moves;
mod reading;
mod schema;
mod server;
mod tool_answer;
mod tools;
mod wait;
mod wait_task;
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
use trackside_protocol::{Problem, ProblemCode};

use crate::app::App;
use crate::auth::Caller;
use crate::limits::is_too_deep;
use crate::middleware::is_our_name;
use crate::problem::Refused;
use crate::rest::{check_strictly, whole};
use crate::telemetry::{RequestContext, current};
use server::McpServer;
pub use tools::TOOLS;

/// The path.
pub(crate) const PATH: &str = "/mcp";
/// Bytes of an rmcp error that are read.
const WORDS: usize = 4 * 1024;

pub(crate) type Endpoint = StreamableHttpService<McpServer, NeverSessionManager>;

/// The caller and context of an HTTP request: rmcp answers calls on other tasks.
#[derive(Clone, Debug)]
struct Asker {
    caller: Caller,
    request: Option<Arc<RequestContext>>,
}

impl Asker {
    /// Runs a future with the context of the request.
    async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.request {
            Some(request) => request.clone().during(work).await,
            None => work.await,
        }
    }
}

/// The route; needs a token.
pub(crate) fn door(app: &App) -> MethodRouter<App> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // The guard has checked the host for every route.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        // The body was already read within the limit.
        .with_max_request_body_bytes(usize::MAX);
    let server = McpServer::new(app.clone());
    let service: Endpoint = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    any(move |State(app): State<App>, caller: Caller, request: Request| {
        let service = service.clone();
        async move { asked(&app, &service, caller, request).await.unwrap_or_else(Refused::into_response) }
    })
}

/// MCP for agents: one JSON-RPC message per request.
#[utoipa::path(
    post, path = "/mcp", tag = "doors", operation_id = "mcp", request_body = Object,
    responses(
        (status = 200, body = Object, description = "The result of a call, or a JSON-RPC error."),
        (status = 202, description = "A notification, which has no answer."),
        (status = 400, description = "Not a JSON-RPC message: error -32700 if it is not JSON, else -32600.",
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
    // Removes the token, so that no later code can leak it.
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
    if is_json {
        check_strictly(&bytes)?;
    }
    let answer = service.handle(Request::from_parts(parts, Body::from(bytes))).await;
    // rmcp answers 415 to JSON that is not JSON-RPC, although its media type is right.
    if is_json && answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return Ok(no_message(-32_600, "Invalid Request: this is not a JSON-RPC 2.0 request"));
    }
    in_words(answer.map(Body::new)).await
}

/// Whether the media type is JSON.
fn says_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|it| it.trim().eq_ignore_ascii_case("application/json"))
}

/// A JSON-RPC error without an id.
fn no_message(code: i32, message: &str) -> Response {
    let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } });
    (StatusCode::BAD_REQUEST, Json(error)).into_response()
}

/// Refuses browsers on other sites' pages, by the `Origin` header.
fn must_be_no_foreign_page(app: &App, headers: &HeaderMap) -> Result<(), Refused> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let host = origin.to_str().ok().and_then(|it| it.split_once("://")).map(|(_, host)| host);
    if host.is_some_and(|it| is_our_name(app, it)) {
        return Ok(());
    }
    let detail = "Pages of other sites may not send requests here. Programs must send no Origin header, or one of this server";
    Err(Refused::forbidden(detail, "programs, and pages of this server"))
}

/// Turns plain-text errors of rmcp into problems; JSON errors stay.
async fn in_words(answer: Response) -> Result<Response, Refused> {
    let status = answer.status();
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    if !status.is_client_error() || kind.is_some_and(|it| it.starts_with("application/json")) {
        return Ok(answer);
    }
    let allow = answer.headers().get(header::ALLOW).cloned();
    let text = to_bytes(answer.into_body(), WORDS).await.unwrap_or_default();
    let detail = match status {
        StatusCode::METHOD_NOT_ALLOWED => "Use POST for MCP: this server offers no stream".to_owned(),
        _ => String::from_utf8_lossy(&text).into_owned(),
    };
    let mut refused = Refused::new(ProblemCode::InvalidRequest, detail).with_status(status).into_response();
    if let Some(allow) = allow {
        refused.headers_mut().insert(header::ALLOW, allow);
    }
    Ok(refused)
}

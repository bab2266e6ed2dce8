//! Whether it is there, and whether it can work.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use trackside_protocol::Problem;

use crate::app::App;
use crate::problem::Refused;

/// It is there.
#[utoipa::path(get, path = "/healthz", tag = "health", operation_id = "healthz", security(()),
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn healthz() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// It can take commands: the store can be used and what is written behind keeps up.
#[utoipa::path(get, path = "/readyz", tag = "health", operation_id = "readyz", security(()),
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json"), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn readyz(State(app): State<App>) -> Response {
    if let Some(trouble) = app.runtime.trouble() {
        let detail = format!("The store cannot be used: {trouble}");
        return Refused::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail).into_response();
    }
    Json(json!({ "status": "ready", "seq": app.reads.seq(), "behind": app.runtime.lag() })).into_response()
}

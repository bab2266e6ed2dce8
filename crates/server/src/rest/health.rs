//! Health checks.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use trackside_protocol::{HealthBody, Problem, ProblemCode, ReadyBody};
use trackside_runtime::SpaceStatus;

use crate::app::App;
use crate::problem::Refused;

/// The process is running.
#[utoipa::path(get, path = "/healthz", tag = "health", operation_id = "healthz", security(()),
    responses((status = 200, body = HealthBody), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn healthz() -> Json<HealthBody> {
    Json(HealthBody { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

/// The server can take commands: the store works, projections keep up, and the machine's clock can be followed.
#[utoipa::path(get, path = "/readyz", tag = "health", operation_id = "readyz", security(()),
    responses((status = 200, body = ReadyBody), (status = "4XX", body = Problem, content_type = "application/problem+json"), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn readyz(State(app): State<App>) -> Response {
    // First: it is the cause of the others.
    if let SpaceStatus::Out(why) = app.runtime.space() {
        let detail = format!("Degraded: reads work, and commands are refused: {why}");
        return Refused::new(ProblemCode::NoSpace, detail)
            .with_status(StatusCode::SERVICE_UNAVAILABLE)
            .into_response();
    }
    if let Some(trouble) = app.runtime.problem() {
        let detail = format!("The store cannot be used: {trouble}");
        return Refused::new(ProblemCode::Unavailable, detail).into_response();
    }
    if let Some(alarm) = app.runtime.clock_alarm() {
        let detail = format!("Commands are accepted, but {alarm}");
        return Refused::new(ProblemCode::Unavailable, detail).into_response();
    }
    let warnings = app.runtime.warnings();
    let status = if warnings.is_empty() { "ready" } else { "degraded" };
    Json(ReadyBody { status, seq: app.reads.seq(), behind: app.runtime.lag(), warnings }).into_response()
}

//! The route of the metrics page.

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use trackside_protocol::Problem;

use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::telemetry::{MetricsFormat, write_metrics};

/// A caller of the metrics page: with any token, or without one if the server allows that.
#[derive(Debug)]
pub(crate) struct MetricsReader {
    /// Whether it may see lifecycles with restricted reading.
    sees_all: bool,
}

impl FromRequestParts<App> for MetricsReader {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        let is_nobody = app.options.open_metrics && !parts.headers.contains_key(header::AUTHORIZATION);
        if is_nobody {
            return Ok(Self { sees_all: false });
        }
        Ok(Self { sees_all: Caller::from_request_parts(parts, app).await?.is_monitor() })
    }
}

/// Shows metrics for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "health", operation_id = "metrics",
    responses((status = 200, description = "Metrics in the format of Prometheus, or of OpenMetrics if accepted.",
        content((String = "text/plain"), (String = "application/openmetrics-text"))),
        (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn metrics(
    State(app): State<App>,
    watcher: MetricsReader,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let form = MetricsFormat::accepted(headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()));
    let text = app.blocking(move |app| Ok(write_metrics(app, form, watcher.sees_all))).await?;
    Ok(([(header::CONTENT_TYPE, form.content_type())], text).into_response())
}

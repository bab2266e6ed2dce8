//! Figures for whoever watches over the server.

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use trackside_protocol::Problem;

use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::watch::{Form, gathered};

/// Somebody who may see them: whoever has a token, or anybody if the server was set up so.
#[derive(Debug)]
pub(crate) struct Watcher {
    /// Whether those of lifecycles are for them that not everybody may see.
    sees_all: bool,
}

impl FromRequestParts<App> for Watcher {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        let is_nobody = app.options.open_metrics && !parts.headers.contains_key(header::AUTHORIZATION);
        if is_nobody {
            return Ok(Self { sees_all: false });
        }
        Ok(Self { sees_all: Caller::from_request_parts(parts, app).await?.is_monitor() })
    }
}

/// Every figure, for Prometheus and whatever else reads its format.
#[utoipa::path(
    get, path = "/metrics", tag = "health", operation_id = "metrics",
    responses((status = 200, description = "Figures, in the format of Prometheus, or of OpenMetrics for who accepts it.",
        content((String = "text/plain"), (String = "application/openmetrics-text"))),
        (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn metrics(
    State(app): State<App>,
    watcher: Watcher,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let form = Form::accepted(headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()));
    let text = app.blocking(move |app| Ok(gathered(app, form, watcher.sees_all))).await?;
    Ok(([(header::CONTENT_TYPE, form.content_type())], text).into_response())
}

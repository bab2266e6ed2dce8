//! Admin overrides.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use trackside_engine::command::Ask;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_protocol::{Correct, Moved, Problem};

use super::body::fields;
use super::commands::{carry_out_or_try, command};
use super::{Body, CommandHeaders, DryRun, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Admin override: sets state or fields without a transition. Journalled, and raises an alert.
#[utoipa::path(
    post, path = "/v1/entities/{lifecycle}/{id}/correct", tag = "entities", operation_id = "correct",
    params(("lifecycle" = String, Path), ("id" = String, Path), DryRun, super::KeyHeader),
    request_body = Option<Correct>,
    responses((status = 200, body = Moved), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn correct(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
    headers: CommandHeaders,
    Parameters(how): Parameters<DryRun>,
    Body(body): Body<Correct>,
) -> Result<Response, Refused> {
    let entity = EntityKey::new(lifecycle.as_str(), id.as_str());
    let to = body.to.as_deref().map(Name::new);
    let ask = Ask::Correct { entity, to, fields: fields(&body.fields) };
    let command = command(&caller, &headers, ask, body.reason.as_deref());
    Ok(carry_out_or_try(&app, &caller, command, how.dry_run).await?.into_response_with(StatusCode::OK))
}

//! Transitions: the route for every change of state.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use trackside_engine::command::{Ask, Fire, TransitionRef};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_protocol::{Moved, Problem, TransitionBody};

use super::body::fields;
use super::commands::{Done, carry_out_or_try, command};
use super::{Body, CommandHeaders, DryRun, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Fires a transition, by its name or by its target state.
#[utoipa::path(
    post, path = "/v1/entities/{lifecycle}/{id}/transitions", tag = "entities", operation_id = "fire",
    params(("lifecycle" = String, Path), ("id" = String, Path), DryRun,
        ("If-Match" = Option<String>, Header, description = "Only if the entity is still at this version."),
        super::KeyHeader),
    request_body = TransitionBody,
    responses((status = 200, body = Moved), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn fire(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
    headers: CommandHeaders,
    Parameters(how): Parameters<DryRun>,
    Body(body): Body<TransitionBody>,
) -> Result<Response, Refused> {
    let entity = EntityKey::new(lifecycle.as_str(), id.as_str());
    let done = fired(&app, &caller, entity, &headers, how.dry_run, &body).await?;
    Ok(done.into_response_with(StatusCode::OK))
}

/// Fires for HTTP and MCP.
pub(crate) async fn fired(
    app: &App,
    caller: &Caller,
    entity: EntityKey,
    headers: &CommandHeaders,
    dry_run: bool,
    body: &TransitionBody,
) -> Result<Done, Refused> {
    let what = what(body.to.as_deref(), body.event.as_deref())?;
    let (fence, if_version) = (body.fence, headers.if_version);
    let ask = Ask::Fire(Fire { entity, what, fields: fields(&body.fields), fence, if_version });
    let command = command(caller, headers, ask, body.reason.as_deref());
    carry_out_or_try(app, caller, command, dry_run).await
}

/// The transition by name or by target.
pub(crate) fn what(to: Option<&str>, event: Option<&str>) -> Result<TransitionRef, Refused> {
    match (to, event) {
        (Some(to), None) => Ok(TransitionRef::To(Name::new(to))),
        (None, Some(event)) => Ok(TransitionRef::Event(Name::new(event))),
        (Some(_), Some(_)) => Err(Refused::shape("Send either `to` (a state) or `event`, not both")),
        (None, None) => {
            Err(Refused::shape("Send `to` (the target state) or `event` (the transition's name)"))
        }
    }
}

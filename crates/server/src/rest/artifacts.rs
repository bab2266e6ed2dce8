//! Artifacts: content stored under its hash.

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use trackside_engine::actor::Actor;
use trackside_protocol::{ArtifactKept, Problem, ProblemCode};
use trackside_runtime::Failure;
use trackside_store::Artifacts;

use super::body::whole;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::quotas::{Quotas, is_exempt};

/// Stores content under its hash. Repeating it changes nothing, and replaces a file that was damaged.
#[utoipa::path(
    put, path = "/v1/artifacts/{sha256}", tag = "artifacts", operation_id = "putArtifact",
    params(("sha256" = String, Path, pattern = "^[0-9a-f]{64}$", description = "Of the content: 64 lower-case hexadecimal digits.")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 201, body = ArtifactKept), (status = 200, body = ArtifactKept, description = "It existed already."),
        (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    must_be_id(&id)?;
    app.gateway.check_space()?;
    let content = whole(request.into_body(), app.limits().artifact).await?;
    let (asked, size) = (id.clone(), content.len() as u64);
    let stored = app.blocking(move |app| {
        let found = Artifacts::id_of(&content);
        if found != asked {
            let detail = format!(
                "The hash of the content is {found}, not {asked}. Correct the path, or send the content again"
            );
            return Err(Refused::new(ProblemCode::HashMismatch, detail));
        }
        let actor = &caller.identity.actor;
        let artifacts = Artifacts::of(&app.options.data);
        let charged = charge(app, actor, size);
        if let Err(refused) = &charged
            && artifacts.get(&asked).map_err(|error| unavailable(&error))?.is_none()
        {
            return Err(refused.clone());
        }
        let stored = artifacts.put(&asked, &content);
        match (&charged, &stored) {
            (Ok(()), Ok(true)) => app.artifact_use.note(actor, size).map_err(|error| unavailable(&error))?,
            // One that is there already costs nothing.
            (Ok(()), _) => {
                app.quotas.refund_artifact(actor, size);
                app.artifact_use.release(actor, size);
            }
            (Err(_), _) => {}
        }
        stored.map_err(|error| unavailable(&error))
    });
    let stored = stored.await?;
    let status = if stored { StatusCode::CREATED } else { StatusCode::OK };
    let location = HeaderValue::from_str(&format!("/v1/artifacts/{id}")).map_err(Refused::broken)?;
    let kept = Json(ArtifactKept { sha256: id, size, stored });
    Ok((status, [(header::LOCATION, location)], kept).into_response())
}

/// Counts the bytes of an artifact that is to be stored.
fn charge(app: &App, actor: &Actor, size: u64) -> Result<(), Refused> {
    let limits = app.limits();
    let most = if is_exempt(actor) { 0 } else { limits.actor_artifact_total };
    app.quotas.charge_artifact(actor, size, &limits)?;
    app.artifact_use.reserve(actor, size, most).map_err(|used| {
        app.quotas.refund_artifact(actor, size);
        Quotas::artifact_total_used_up(actor, used, size, &limits)
    })
}

/// Returns content.
#[utoipa::path(
    get, path = "/v1/artifacts/{sha256}", tag = "artifacts", operation_id = "getArtifact",
    params(("sha256" = String, Path, pattern = "^[0-9a-f]{64}$")),
    responses((status = 200, description = "The content.", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = 500, body = Problem, content_type = "application/problem+json", description = "The stored file is damaged. Send the content again.")),
)]
pub(crate) async fn get(
    State(app): State<App>,
    _: Caller,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    must_be_id(&id)?;
    let wanted = id.clone();
    let found = app.blocking(move |app| {
        Artifacts::of(&app.options.data).get(&wanted).map_err(|error| unavailable(&error))
    });
    let Some(content) = found.await? else {
        return Err(Refused::new(ProblemCode::UnknownArtifact, format!("There is no artifact {id}")));
    };
    // Never rendered as a page of this server.
    let headers =
        [(header::CONTENT_TYPE, "application/octet-stream"), (header::CONTENT_DISPOSITION, "attachment")];
    Ok((headers, content).into_response())
}

fn must_be_id(id: &str) -> Result<(), Refused> {
    match Artifacts::is_id(id) {
        true => Ok(()),
        false => Err(Refused::parameter(
            "sha256",
            "An artifact is named by the SHA-256 of its content: 64 lower-case hexadecimal digits",
        )),
    }
}

pub(super) fn unavailable(error: &std::io::Error) -> Refused {
    if error.kind() == std::io::ErrorKind::InvalidData {
        return Refused::new(ProblemCode::ArtifactDamaged, error.to_string());
    }
    let why = format!("an artifact cannot be read or written: {error}");
    match error.kind() {
        std::io::ErrorKind::StorageFull => Failure::NoSpace(why).into(),
        _ => Failure::Unavailable(why).into(),
    }
}

//! Moves old journal entries to archive files.

use axum::Json;
use axum::extract::State;
use trackside_lifecycle::hex;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_protocol::{ArchiveBody, ArchiveFile, ArchiveReply, Problem};
use trackside_store::archive::ArchiveHeader;

use super::Body;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Moves old entries to files in the folder `archive`. They are read back and verified before the journal drops them.
/// The newest entry stays.
#[utoipa::path(
    post, path = "/v1/archive", tag = "journal", operation_id = "archive", params(super::KeyHeader), request_body = ArchiveBody,
    responses((status = 200, body = ArchiveReply), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn archive(
    State(app): State<App>,
    caller: Caller,
    Body(body): Body<ArchiveBody>,
) -> Result<Json<ArchiveReply>, Refused> {
    caller.must_be_admin("archive the journal")?;
    let Some(span) = Span::parse(&body.older_than).filter(|it| it.0 >= 0) else {
        return Err(Refused::shape("`olderThan` is a span such as 30d, 24h or 90m"));
    };
    let before = Timestamp(app.reads.now().0.saturating_sub(span.0));
    let moved = app.blocking(move |app| Ok(app.runtime.archive(before)?)).await?;
    Ok(Json(ArchiveReply { files: moved.iter().map(file).collect() }))
}

fn file(it: &ArchiveHeader) -> ArchiveFile {
    let name = it.path.file_name().map(|it| it.display().to_string()).unwrap_or_default();
    let hash = hex::encode(it.after.hash);
    ArchiveFile { path: format!("archive/{name}"), first: it.first(), last: it.last(), hash }
}

//! Old journal goes into files while everything goes on.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_protocol::{Archive, Problem};
use trackside_store::archive::About;
use trackside_store::record::hex;

use super::{Body, KeyUse, Wanted, answer_once};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Moves entries that are older into files of the folder `archive`, which are read back and checked before the journal
/// lets go of them. The newest entry stays.
#[utoipa::path(
    post, path = "/v1/archive", tag = "journal", operation_id = "archive", params(super::Keyed), request_body = Archive,
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn archive(
    State(app): State<App>,
    caller: Caller,
    wanted: Wanted,
    Body(body): Body<Archive>,
) -> Result<Json<Value>, Refused> {
    caller.must_be_admin("archive the journal")?;
    let Some(span) = Span::parse(&body.older_than).filter(|it| it.0 >= 0) else {
        return Err(Refused::shape("`olderThan` is a span such as 30d, 24h or 90m"));
    };
    let before = Timestamp(app.reads.now().0.saturating_sub(span.0));
    let used = KeyUse::of(&caller, &wanted, "/v1/archive", &body);
    let archiving = app.clone();
    let archived = async move {
        let moved = archiving.blocking(move |app| Ok(app.runtime.archive(before)?)).await?;
        Ok(json!({ "files": moved.iter().map(file).collect::<Vec<_>>() }))
    };
    answer_once(&app, used, archived).await
}

fn file(it: &About) -> Value {
    let name = it.path.file_name().map(|it| it.display().to_string()).unwrap_or_default();
    json!({ "path": format!("archive/{name}"), "first": it.first(), "last": it.last(), "hash": hex(&it.after.hash) })
}

//! Messages posted on an entity.

use axum::Json;
use axum::extract::{Path, State};
use trackside_engine::event::Event;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_protocol::{Message, Page, Problem};
use trackside_runtime::ReadError;
use trackside_store::Record;

use super::{Cursors, Paging, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Visibility;
use crate::problem::Refused;

/// Lists the messages of an entity that the caller may see, the oldest first. `to` names who has to act on one.
#[utoipa::path(
    get, path = "/v1/entities/{lifecycle}/{id}/messages", tag = "entities", operation_id = "messages",
    params(("lifecycle" = String, Path), ("id" = String, Path), Paging),
    responses((status = 200, body = Page<Message>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn messages(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
    Parameters(page): Parameters<Paging>,
) -> Result<Json<Page<Message>>, Refused> {
    let cursors = Cursors::of(&["entities", &lifecycle, &id, "messages"]);
    let (limit, after) = (super::limit(page.limit)?, cursors.after(page.cursor.as_deref())?);
    let key = EntityKey::new(lifecycle.as_str(), id.as_str());
    let visibility = Visibility::of(&app, &caller);
    let page = app.read(move |reads| {
        let found = visibility.messages(reads, &key, after, limit)?;
        let items = found.records.iter().map(message_body).collect::<Result<Vec<_>, _>>()?;
        let items = items.into_iter().flatten().collect();
        Ok(Page { items, next_cursor: found.next_cursor.map(|it| cursors.give(it)) })
    });
    Ok(Json(page.await?))
}

fn message_body(record: &Record) -> Result<Option<Message>, ReadError> {
    let entry = record.entry()?;
    let Event::MessagePosted { kind, text, visible, from, routed } = &entry.event else { return Ok(None) };
    let to = routed.as_ref().or(visible.as_ref());
    Ok(Some(Message {
        seq: entry.seq,
        kind: kind.to_string(),
        text: text.to_string(),
        from: from.as_ref().unwrap_or(&entry.actor).to_string(),
        to: to.map(|it| it.iter().map(Name::to_string).collect()),
        at: entry.at.to_string(),
        redacted: record.is_redacted(),
    }))
}

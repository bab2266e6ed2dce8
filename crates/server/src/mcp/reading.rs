//! Tools that only read.

use axum::extract::{Path, State};
use trackside_engine::key::EntityKey;

use super::args::{EntityInput, ListInput};
use super::tool_answer::ToolAnswer;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::rest::{Parameters, entities, entity_body, explain};

pub(super) async fn show(app: &App, caller: &Caller, one: EntityInput) -> Result<ToolAnswer, Refused> {
    let (key, actor) = (EntityKey::new(one.lifecycle.as_str(), one.id.as_str()), caller.actor().clone());
    let name = key.to_string();
    let entity = app.read(move |reads| entity_body(reads, &key, &actor)).await?;
    Ok(ToolAnswer::new(format!("{name} is {}.", entity.state), &entity))
}

pub(super) async fn list(app: &App, caller: &Caller, asked: ListInput) -> Result<ToolAnswer, Refused> {
    let which = entities::EntitiesQuery {
        state: asked.state,
        r#where: asked.only,
        overdue: asked.overdue,
        limit: asked.limit,
        cursor: asked.cursor,
        seq: None,
    };
    let lifecycle = asked.lifecycle.clone();
    let page =
        entities::list(State(app.clone()), caller.clone(), Path(asked.lifecycle), Parameters(which)).await?;
    let more = if page.0.next_cursor.is_some() { " There is more: send nextCursor as cursor." } else { "" };
    Ok(ToolAnswer::new(format!("{} of {lifecycle}.{more}", page.0.items.len()), &page.0))
}

pub(super) async fn explained(app: &App, caller: &Caller, one: EntityInput) -> Result<ToolAnswer, Refused> {
    let body = explain::explain(State(app.clone()), caller.clone(), Path((one.lifecycle, one.id))).await?.0;
    Ok(ToolAnswer::new(body.summary.clone(), &body))
}

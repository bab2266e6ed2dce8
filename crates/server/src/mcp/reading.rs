//! Tools that only read.

use axum::extract::{Path, State};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_protocol::InboxAction;

use super::args::{EntityInput, InboxInput, ListInput};
use super::tool_answer::ToolAnswer;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::rest::{Parameters, entities, entity_body, inbox as inbox_route};

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

pub(super) async fn inbox(app: &App, caller: &Caller, asked: InboxInput) -> Result<ToolAnswer, Refused> {
    let which =
        inbox_route::InboxQuery { kind: asked.kind, number: None, limit: asked.limit, cursor: asked.cursor };
    let page = inbox_route::list(State(app.clone()), caller.clone(), Parameters(which)).await?.0;
    let mut text = match page.items.len() {
        0 => "Nothing waits for you.".to_owned(),
        1 => "One thing waits for you:".to_owned(),
        many => format!("{many} things wait for you:"),
    };
    for it in &page.items {
        text.push_str(&format!(
            "\n- {}/{}, since {}: {}",
            it.lifecycle,
            it.id,
            it.since,
            one_line(&it.headline)
        ));
        if let Some(otherwise) = &it.otherwise {
            text.push_str(&format!(". Otherwise {} at {}", otherwise.event, otherwise.at));
        }
        let way = |it: &InboxAction| {
            let name = it.event.as_ref().map(Name::to_string).or_else(|| it.decision.map(str::to_owned));
            let with: Vec<&str> = it.fields.iter().map(Name::as_str).collect();
            let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(", ")) };
            format!("{}{with}", name.unwrap_or_default())
        };
        let ways: Vec<String> = it.actions.iter().map(way).collect();
        text.push_str(&format!(". You can: {}", ways.join("; ")));
    }
    if page.next_cursor.is_some() {
        text.push_str("\nThere is more: send nextCursor as cursor.");
    } else if page.more {
        text.push_str("\nThere is more, which follows when some of it is decided.");
    }
    Ok(ToolAnswer::new(text, &page))
}

/// Text of others in one line, so that it cannot look like another item.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

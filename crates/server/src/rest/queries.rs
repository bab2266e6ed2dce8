//! The named queries of the packs.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Map, Value, json};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value as Sent;
use trackside_protocol::Problem;
use trackside_runtime::ReadError;
use trackside_runtime::read::{MOST, NamedAnswer, USUAL, entry_json};

use super::{Paging, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Sight;
use crate::problem::Refused;

/// Lists the queries of a pack.
#[utoipa::path(
    get, path = "/v1/queries/{pack}", tag = "queries", operation_id = "listQueries",
    params(("pack" = String, Path)),
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    _: Caller,
    Path(pack): Path<String>,
) -> Result<Json<Value>, Refused> {
    let law = app.runtime.law();
    let Some(found) = law.pack(&pack) else {
        let near = nearest(&pack, law.packs().map(|it| it.name.as_str()));
        let hint = near.map(|it| format!(". Did you mean {it}?")).unwrap_or_default();
        return Err(Refused::unknown("unknown-pack", format!("There is no pack {pack}{hint}")));
    };
    let items = found.queries.iter().map(|it| {
        let takes: Vec<&Name> = it.takes.iter().map(|(name, _)| name).collect();
        json!({ "name": it.name, "of": it.of, "takes": takes, "about": it.about })
    });
    Ok(Json(json!({ "items": items.collect::<Vec<_>>(), "nextCursor": null })))
}

/// Answers a query of a pack.
#[utoipa::path(
    get, path = "/v1/queries/{pack}/{name}", tag = "queries", operation_id = "query",
    params(("pack" = String, Path), ("name" = String, Path), Paging,
        ("parameters" = Option<BTreeMap<String, String>>, Query, style = Form, explode, description = "What the query takes, each by its name.")),
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn named(
    State(app): State<App>,
    caller: Caller,
    Path((pack, name)): Path<(String, String)>,
    Parameters(mut asked): Parameters<BTreeMap<String, String>>,
) -> Result<Json<Value>, Refused> {
    let page = paging(asked.remove("limit"), asked.remove("cursor"))?;
    let limit = super::limit(page.limit)?;
    let (actor, sight) = (caller.actor().clone(), Sight::of(&app, &caller));
    let answer = app.blocking(move |app| {
        let reads = &app.reads;
        let asked: Fields = asked.iter().map(|(name, value)| (name.as_str(), Sent::text(value))).collect();
        Ok(match reads.named(&pack, &name, &asked, &actor)? {
            NamedAnswer::Entities(found) => {
                let (items, next) = part(&found, limit, page.cursor.as_deref())?;
                json!({ "items": reads.present_all(&items, &actor)?, "nextCursor": next })
            }
            NamedAnswer::Values(values) => {
                let values: Map<String, Value> =
                    values.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect();
                Value::Object(values)
            }
            NamedAnswer::History(key) => {
                let history = reads.history(&key, page.after()?, limit, false)?;
                let mut items = Vec::new();
                for record in &history.records {
                    if sight.is_told(&record.entry().map_err(ReadError::from)?) {
                        items.push(entry_json(record).map_err(ReadError::from)?);
                    }
                }
                json!({ "items": items, "nextCursor": history.next_cursor.map(|it| it.to_string()) })
            }
        })
    });
    Ok(Json(answer.await?))
}

/// Which page is meant. Whatever else is asked is for the query.
fn paging(limit: Option<String>, cursor: Option<String>) -> Result<Paging, Refused> {
    let wrong = |_| Refused::parameter("limit", "limit must be 1 to 200");
    Ok(Paging { limit: limit.map(|it| it.parse()).transpose().map_err(wrong)?, cursor })
}

/// A page of what a query found, and where the next one begins: after the last one shown, wherever that is by then; if
/// it is gone, at the same place.
fn part(
    found: &[Arc<Entity>],
    limit: usize,
    cursor: Option<&str>,
) -> Result<(Vec<Arc<Entity>>, Option<String>), Refused> {
    let most = if limit == 0 { USUAL } else { limit.min(MOST) };
    let first = match cursor {
        None => 0,
        Some(text) => {
            let (place, id) = text.split_once('~').ok_or_else(|| super::not_a_cursor(text))?;
            let place: usize = place.parse().map_err(|_| super::not_a_cursor(text))?;
            found.iter().position(|it| *it.key.id == *id).map_or(place, |it| it + 1)
        }
    };
    let items: Vec<Arc<Entity>> = found.iter().skip(first).take(most).cloned().collect();
    let end = first.saturating_add(items.len());
    let next = items.last().filter(|_| end < found.len()).map(|it| format!("{end}~{}", it.key.id));
    Ok((items, next))
}

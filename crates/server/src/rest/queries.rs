//! The named queries of the packs.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Map, Value, json};
use trackside_engine::fields::Fields;
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value as Sent;
use trackside_protocol::Problem;
use trackside_runtime::read::{NamedAnswer, entry_json};

use super::Parameters;
use crate::app::App;
use crate::auth::Caller;
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
    params(("pack" = String, Path), ("name" = String, Path),
        ("parameters" = Option<BTreeMap<String, String>>, Query, style = Form, explode, description = "What the query takes, each by its name.")),
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn named(
    State(app): State<App>,
    caller: Caller,
    Path((pack, name)): Path<(String, String)>,
    Parameters(asked): Parameters<BTreeMap<String, String>>,
) -> Result<Json<Value>, Refused> {
    let actor = caller.actor().clone();
    let answer = app.read(move |reads| {
        let asked: Fields = asked.iter().map(|(name, value)| (name.as_str(), Sent::text(value))).collect();
        Ok(match reads.named(&pack, &name, &asked, &actor)? {
            NamedAnswer::Entities(found) => {
                json!({ "items": reads.present_all(&found, &actor)?, "nextCursor": null })
            }
            NamedAnswer::Values(values) => {
                let values: Map<String, Value> =
                    values.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect();
                Value::Object(values)
            }
            NamedAnswer::History(key) => {
                let history = reads.history(&key, 0, trackside_runtime::read::MOST, false)?;
                let items = history.records.iter().map(entry_json).collect::<Result<Vec<_>, _>>()?;
                json!({ "items": items, "nextCursor": history.next_cursor.map(|it| it.to_string()) })
            }
        })
    });
    Ok(Json(answer.await?))
}

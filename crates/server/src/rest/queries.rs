//! Named queries of packs.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use trackside_engine::Law;
use trackside_engine::fields::Fields;
use trackside_engine::refusal::Code;
use trackside_lifecycle::guard::{did_you_mean, did_you_mean_or_all};
use trackside_lifecycle::value::Value as Sent;
use trackside_protocol::{
    FieldMap, Page, Problem, ProblemCode, QueryItems, QueryReply, QuerySummary, entry_value,
};
use trackside_runtime::read::NamedAnswer;

use super::{Cursors, Paging, Parameters, entity_bodies, unknown_parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Visibility;
use crate::problem::Refused;

/// Lists the queries of a pack.
#[utoipa::path(
    get, path = "/v1/queries/{pack}", tag = "queries", operation_id = "listQueries",
    params(("pack" = String, Path), Paging),
    responses((status = 200, body = Page<QuerySummary>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    _: Caller,
    Path(pack): Path<String>,
    Parameters(page): Parameters<Paging>,
) -> Result<Json<Page<QuerySummary>>, Refused> {
    let law = app.runtime.law();
    let found = law.pack(&pack).ok_or_else(|| unknown_pack(&law, &pack))?;
    let cursors = Cursors::of(&["queries", &pack]);
    let (found, next_cursor) =
        cursors.part(found.queries.iter().collect(), &page, |it| it.name.to_string())?;
    let items = found.into_iter().map(|it| QuerySummary {
        name: it.name.clone(),
        of: it.of.clone(),
        takes: it.takes.iter().map(|(name, _)| name.clone()).collect(),
        about: it.about.clone(),
    });
    Ok(Json(Page { items: items.collect(), next_cursor }))
}

/// Runs a query of a pack.
#[utoipa::path(
    get, path = "/v1/queries/{pack}/{name}", tag = "queries", operation_id = "query",
    params(("pack" = String, Path), ("name" = String, Path), Paging,
        ("parameters" = Option<BTreeMap<String, String>>, Query, style = Form, explode, description = "The parameters of the query, by name.")),
    responses((status = 200, body = QueryReply), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn named(
    State(app): State<App>,
    caller: Caller,
    Path((pack, name)): Path<(String, String)>,
    Parameters(mut asked): Parameters<BTreeMap<String, String>>,
) -> Result<Json<QueryReply>, Refused> {
    let page = paging(asked.remove("limit"), asked.remove("cursor"))?;
    must_exist(&app, &pack, &name, &asked)?;
    let (limit, cursors) = (super::limit(page.limit)?, Cursors::of(&["queries", &pack, &name]));
    let (actor, visibility) = (caller.actor().clone(), Visibility::of(&app, &caller));
    let answer = app.blocking(move |app| {
        let reads = &app.reads;
        let asked: Fields = asked.iter().map(|(name, value)| (name.as_str(), Sent::text(value))).collect();
        Ok(match reads.run_query(&pack, &name, &asked, &actor)? {
            NamedAnswer::Entities(found) => {
                let (found, next_cursor) = cursors.part(found, &page, |it| it.key.id.to_string())?;
                let items = QueryItems::Entities(entity_bodies(reads, &found, &actor)?);
                QueryReply::Page { items, next_cursor }
            }
            NamedAnswer::Values(values) => QueryReply::Values(FieldMap(values)),
            NamedAnswer::History(selection) => {
                visibility.check_observer(reads, &selection.key)?;
                let after = cursors.after(page.cursor.as_deref())?;
                let history = reads.selected_history(&selection, after, limit, &entry_value)?;
                let (mut values, mut bodies) = (Vec::new(), Vec::new());
                for record in &history.records {
                    if let Some((entry, body)) = visibility.entry_and_body(reads, record)? {
                        values.push(entry_value(&entry));
                        bodies.push(body);
                    }
                }
                let items = match reads.history_lines(&selection, values)? {
                    Some(lines) => QueryItems::Lines(lines.into_iter().map(FieldMap).collect()),
                    None => QueryItems::Entries(bodies),
                };
                let next_cursor = history.next_cursor.map(|it| cursors.give(it));
                QueryReply::Page { items, next_cursor }
            }
        })
    });
    Ok(Json(answer.await?))
}

/// Refuses an unknown query, and parameters that the query does not take.
fn must_exist(app: &App, pack: &str, name: &str, asked: &BTreeMap<String, String>) -> Result<(), Refused> {
    let law = app.runtime.law();
    let found = law.pack(pack).ok_or_else(|| unknown_pack(&law, pack))?;
    let Some(query) = found.queries.iter().find(|it| *it.name == *name) else {
        let known = found.queries.iter().map(|it| it.name.as_str());
        let hint = match found.queries.is_empty() {
            true => ". It has no queries".to_owned(),
            false => did_you_mean_or_all(name, "Its queries", known),
        };
        let detail = format!("Pack {pack} has no query {name}{hint}");
        return Err(Refused::new(ProblemCode::UnknownQuery, detail));
    };
    let takes = query.takes.iter().map(|(name, _)| name.as_str());
    let known: Vec<&str> = takes.chain(["limit", "cursor"]).collect();
    let unknown: Vec<String> = asked.keys().filter(|it| !known.contains(&it.as_str())).cloned().collect();
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(unknown_parameters(&format!("Query {pack}/{name}"), &unknown, &known)),
    }
}

fn unknown_pack(law: &Law, pack: &str) -> Refused {
    let hint = did_you_mean(pack, law.packs().map(|it| it.name.as_str()));
    Refused::new(Code::UnknownPack, format!("There is no pack {pack}{hint}"))
}

/// The paging parameters; all others belong to the query.
fn paging(limit: Option<String>, cursor: Option<String>) -> Result<Paging, Refused> {
    let wrong = |_| Refused::parameter("limit", "limit must be 1 to 200");
    Ok(Paging { limit: limit.map(|it| it.parse()).transpose().map_err(wrong)?, cursor })
}

//! Definitions of lifecycles, as JSON and as diagrams.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use trackside_engine::Law;
use trackside_engine::refusal::Code;
use trackside_lifecycle::guard::did_you_mean;
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_protocol::diagram::Graph;
use trackside_protocol::{
    LifecycleBody, LifecycleSummary, Page, Problem, field_bodies, state_meanings, states_by_alias,
    states_waiting_for_people,
};
use trackside_study::draw::graph::pack_graphs;
use trackside_study::draw::svg::Theme;
use trackside_study::draw::{Picture, export};
use utoipa::IntoParams;

use super::{Cursors, Paging, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Lists the lifecycles in force.
#[utoipa::path(
    get, path = "/v1/lifecycles", tag = "definitions", operation_id = "listLifecycles", params(Paging),
    responses((status = 200, body = Page<LifecycleSummary>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    _: Caller,
    Parameters(page): Parameters<Paging>,
) -> Result<Json<Page<LifecycleSummary>>, Refused> {
    let law = app.runtime.law();
    let all = law.lifecycle_names().iter().filter_map(|it| law.newest(it)).collect();
    let (found, next_cursor) = Cursors::of(&["lifecycles"]).part(all, &page, |it| it.name.to_string())?;
    let items = found.into_iter().map(|it| summary(&law, it)).collect();
    Ok(Json(Page { items, next_cursor }))
}

fn summary(law: &Law, life: &Lifecycle) -> LifecycleSummary {
    LifecycleSummary {
        lifecycle: life.name.clone(),
        pack: life.pack.clone(),
        version: life.version,
        about: life.about.clone(),
        face: life.face.as_ref().map(|it| it.is.clone()),
        one: life.one,
        initial: life.initial.clone(),
        states: life.states.iter().map(|it| it.name.clone()).collect(),
        title: life.title.clone(),
        assignee: life.assignee.clone(),
        card: life.card.clone(),
        path: life.path.clone(),
        shows: state_meanings(life),
        waits_for_people: states_waiting_for_people(life),
        versions: law.versions(&life.name).collect(),
    }
}

/// Shows one definition: states, fields, transitions and what each takes.
#[utoipa::path(
    get, path = "/v1/lifecycles/{lifecycle}", tag = "definitions", operation_id = "showLifecycle",
    params(("lifecycle" = String, Path)),
    responses((status = 200, body = LifecycleBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(lifecycle): Path<String>,
) -> Result<Json<LifecycleBody>, Refused> {
    let law = app.runtime.law();
    let life = newest(&law, &lifecycle)?;
    Ok(Json(LifecycleBody {
        summary: summary(&law, &life),
        fields: field_bodies(&life),
        known_as: states_by_alias(&life),
        definition: graph(&law, &life)?,
        work: super::work::role_bodies(&app, &caller, &law, &life)?,
    }))
}

/// Parameters of a diagram.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiagramQuery {
    /// `svg` (default), `mermaid`, `dot`, `scxml` or `xstate`.
    format: Option<String>,
}

/// Draws a lifecycle.
#[utoipa::path(
    get, path = "/v1/lifecycles/{lifecycle}/diagram", tag = "definitions", operation_id = "drawLifecycle",
    params(("lifecycle" = String, Path), DiagramQuery),
    responses((status = 200, description = "The drawing.", content((String = "image/svg+xml"), (String = "text/plain"), (String = "application/json"), (String = "application/xml"))),
        (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn diagram(
    State(app): State<App>,
    _: Caller,
    Path(lifecycle): Path<String>,
    Parameters(how): Parameters<DiagramQuery>,
) -> Result<Response, Refused> {
    let law = app.runtime.law();
    let graph = graph(&law, &*newest(&law, &lifecycle)?)?;
    let (kind, text) = match how.format.as_deref().unwrap_or("svg") {
        "svg" => ("image/svg+xml", Picture::of(&graph).svg(Theme::Auto)),
        "mermaid" => ("text/plain; charset=utf-8", export::mermaid(&graph)),
        "dot" => ("text/plain; charset=utf-8", export::dot(&graph)),
        "scxml" => ("application/xml", export::scxml(&graph)),
        "xstate" => ("application/json", export::xstate(&graph)),
        other => {
            let detail = format!("Unknown format {other}: use svg, mermaid, dot, scxml or xstate");
            return Err(Refused::parameter("format", detail));
        }
    };
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// The newest definition of a lifecycle, or a refusal with a suggestion.
pub(crate) fn newest(law: &Law, name: &str) -> Result<Arc<Lifecycle>, Refused> {
    law.newest(&Name::new(name)).cloned().ok_or_else(|| {
        let hint = did_you_mean(name, law.lifecycle_names().iter().map(Name::as_str));
        Refused::new(Code::UnknownLifecycle, format!("There is no lifecycle {name}{hint}"))
    })
}

fn graph(law: &Law, life: &Lifecycle) -> Result<Graph, Refused> {
    let pack = law.pack(&life.pack).ok_or_else(|| Refused::broken("a lifecycle without its pack"))?;
    pack_graphs(pack)
        .into_iter()
        .find(|it| *it.name == *life.name)
        .ok_or_else(|| Refused::broken("a pack without its lifecycle"))
}

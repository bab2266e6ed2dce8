//! Settings of packs and of the project.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Map, Value};
use trackside_engine::Decision;
use trackside_engine::command::Ask;
use trackside_engine::event::Event;
use trackside_engine::project::{ProjectChange, SettingChange};
use trackside_engine::refusal::Code;
use trackside_engine::settings::effective;
use trackside_engine::view::Project;
use trackside_lifecycle::guard::{Type, did_you_mean};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value as Sent;
use trackside_protocol::{Problem, ProjectBody, ProjectPut, SettingBody, SettingsBody};
use trackside_runtime::CommandAnswer;

use super::commands::{command, submit};
use super::{Body, CommandHeaders, DryRun, Parameters, Required};
use crate::app::App;
use crate::auth::{Caller, PACK};
use crate::problem::Refused;

/// Shows the time zone, and the settings of every pack.
#[utoipa::path(
    get, path = "/v1/settings", tag = "definitions", operation_id = "projectSettings",
    responses((status = 200, body = ProjectBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn project(State(app): State<App>, caller: Caller) -> Json<ProjectBody> {
    Json(project_body(&app, &caller, &app.reads.project()))
}

fn project_body(app: &App, caller: &Caller, project: &Project) -> ProjectBody {
    let law = app.runtime.law();
    let shown = law.packs().filter(|it| *it.name != *PACK || caller.identity.is_admin());
    let packs = shown.map(|it| settings_body(it, project)).collect();
    ProjectBody { zone: project.zone.clone(), packs }
}

/// Changes the time zone of the project. With `dryRun`, shows the settings as they would be.
#[utoipa::path(
    put, path = "/v1/settings", tag = "definitions", operation_id = "putProjectSettings", params(DryRun), request_body = ProjectPut,
    responses((status = 200, body = ProjectBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn put_project(
    State(app): State<App>,
    caller: Caller,
    headers: CommandHeaders,
    Parameters(how): Parameters<DryRun>,
    Body(body): Body<ProjectPut>,
) -> Result<Json<ProjectBody>, Refused> {
    let change = ProjectChange { zone: Some(body.zone), ..ProjectChange::default() };
    let project = configure(&app, &caller, &headers, change, how.dry_run).await?;
    Ok(Json(project_body(&app, &caller, &project)))
}

/// Shows the settings of a pack: the value in force, the default, and the origin.
#[utoipa::path(
    get, path = "/v1/settings/{pack}", tag = "definitions", operation_id = "settings", params(("pack" = String, Path)),
    responses((status = 200, body = SettingsBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(pack): Path<String>,
) -> Result<Json<SettingsBody>, Refused> {
    if pack == PACK && !caller.identity.is_admin() {
        return Err(Refused::new(Code::UnknownPack, format!("There is no pack {pack}")));
    }
    of(&app, &pack, &app.reads.project()).map(Json)
}

/// Changes settings of a pack: names with values, or null for the default. With `dryRun`, shows the settings as they
/// would be.
#[utoipa::path(
    put, path = "/v1/settings/{pack}", tag = "definitions", operation_id = "putSettings", params(("pack" = String, Path), DryRun),
    request_body = Object,
    responses((status = 200, body = SettingsBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    Path(pack): Path<String>,
    headers: CommandHeaders,
    Parameters(how): Parameters<DryRun>,
    Required(body): Required<Map<String, Value>>,
) -> Result<Json<SettingsBody>, Refused> {
    caller.must_be_admin("change the settings of the project")?;
    of(&app, &pack, &app.reads.project())?;
    let settings = body.iter().map(|(name, value)| SettingChange {
        pack: Name::new(&pack),
        setting: Name::new(name),
        value: Sent::from_json(value),
    });
    let change = ProjectChange { settings: settings.collect(), ..ProjectChange::default() };
    let project = configure(&app, &caller, &headers, change, how.dry_run).await?;
    of(&app, &pack, &project).map(Json)
}

/// Changes the project, and returns it as it is then, or would be.
async fn configure(
    app: &App,
    caller: &Caller,
    headers: &CommandHeaders,
    change: ProjectChange,
    dry_run: bool,
) -> Result<Arc<Project>, Refused> {
    let command = command(caller, headers, Ask::Configure(change), None);
    if dry_run {
        return match app.gateway.dry_run(command)?.await? {
            Decision::Accepted(accepted) => {
                let mut project = Project::clone(&app.reads.project());
                for entry in &accepted.entries {
                    if let Event::ProjectChanged { change } = &entry.event {
                        change.apply(&mut project);
                    }
                }
                Ok(Arc::new(project))
            }
            Decision::Refused(refusal) => Err((&*refusal).into()),
            Decision::Replayed { .. } => Ok(app.reads.project()),
        };
    }
    match submit(app, command).await? {
        CommandAnswer::Refused(refusal) => Err((&*refusal).into()),
        CommandAnswer::Accepted(_) | CommandAnswer::Replayed { .. } => Ok(app.reads.project()),
    }
}

fn of(app: &App, name: &str, project: &Project) -> Result<SettingsBody, Refused> {
    let law = app.runtime.law();
    let Some(pack) = law.pack(name) else {
        let hint = did_you_mean(name, law.packs().map(|it| it.name.as_str()));
        return Err(Refused::new(Code::UnknownPack, format!("There is no pack {name}{hint}")));
    };
    Ok(settings_body(pack, project))
}

fn settings_body(pack: &Pack, project: &Project) -> SettingsBody {
    let own = project.settings.get(&pack.name);
    let items = pack.settings.iter().map(|it| SettingBody {
        name: it.name.to_string(),
        value: effective(it, &pack.name, project, None).to_json(),
        default: it.default.to_json(),
        origin: if own.is_some_and(|own| own.contains_key(&it.name)) { "project" } else { "default" }
            .to_owned(),
        kind: kind(&it.ty).to_owned(),
        about: it.about.clone(),
        min: it.min,
        max: it.max,
    });
    SettingsBody { pack: pack.name.to_string(), items: items.collect() }
}

/// The name of a type in the language.
fn kind(ty: &Type) -> &'static str {
    match ty {
        Type::Bool => "boolean",
        Type::Int => "integer",
        Type::Float => "number",
        Type::Text | Type::Choice(_) => "string",
        Type::Time => "time",
        Type::Span => "span",
        Type::List(_) => "list",
        Type::Map(_) | Type::Record(_) => "map",
        Type::Any | Type::Null => "any",
    }
}

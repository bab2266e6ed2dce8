//! Migrates running entities to another version of their definition, and back.

use axum::Json;
use axum::extract::State;
use trackside_engine::Law;
use trackside_engine::decide::{is_protected, protected};
use trackside_engine::key::is_valid_id;
use trackside_engine::refusal::Code;
use trackside_lifecycle::guard::did_you_mean;
use trackside_lifecycle::name::Name;
use trackside_protocol::{MigrateBody, Migrated, MigratedOne, Problem};
use trackside_runtime::{MigratedEntity, Migration, MigrationRange, Requester};

use super::body::fields;
use super::{Body, DryRun, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Most entities that are listed by name; all are counted.
const NAMED: usize = 1_000;

/// Migrates the entities of a lifecycle to another version, each by a journal entry. With `dryRun`, shows what would
/// happen.
#[utoipa::path(
    post, path = "/v1/migrations", tag = "definitions", operation_id = "migrate", params(DryRun, super::KeyHeader), request_body = MigrateBody,
    responses((status = 200, body = Migrated), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn migrate(
    State(app): State<App>,
    caller: Caller,
    Parameters(how): Parameters<DryRun>,
    Body(body): Body<MigrateBody>,
) -> Result<Json<Migrated>, Refused> {
    caller.must_be_admin("migrate entities")?;
    if body.undo && (how.dry_run || !body.states.is_empty() || !body.fields.is_empty()) {
        return Err(Refused::shape(
            "`undo` can be combined only with `lifecycle` and `to`, and not with `dryRun`",
        ));
    }
    if let Some(wrong) = body.limit.filter(|it| *it == 0 || *it as usize > NAMED) {
        return Err(Refused::shape(format!("`limit` must be 1 to {NAMED}, not {wrong}")));
    }
    if let Some(after) = body.after.as_ref().filter(|it| !is_valid_id(it)) {
        return Err(Refused::shape(format!(
            "`after` must be the id of an entity, and `{after}` is not valid"
        )));
    }
    let by = caller.by();
    app.blocking(move |app| carry_out(app, by, &body, how.dry_run)).await.map(Json)
}

fn carry_out(app: &App, by: Requester, body: &MigrateBody, dry_run: bool) -> Result<Migrated, Refused> {
    let lifecycle = Name::new(&body.lifecycle);
    if is_protected(&lifecycle) {
        return Err((&protected(&lifecycle, "migrated")).into());
    }
    check_version(&app.runtime.law(), &lifecycle, body.to)?;
    let mut told = Migrated {
        lifecycle: body.lifecycle.clone(),
        to: body.to,
        dry_run,
        moved: 0,
        stuck: 0,
        looked_at: 0,
        next: None,
        items: Vec::new(),
        cannot: Vec::new(),
    };
    let part = MigrationRange {
        after: body.after.as_deref().map(Name::new),
        most: body.limit.map(|it| usize::try_from(it).unwrap_or(NAMED)),
    };
    let mut note = |it: &MigratedEntity| add_result(&mut told, it);
    let went = if body.undo {
        app.runtime.undo_migration(by, &lifecycle, body.to, &part, &mut note)?
    } else {
        let states = body.states.iter().map(|(old, new)| (Name::new(old), Name::new(new))).collect();
        let migration = Migration { lifecycle, to: body.to, states, fields: fields(&body.fields) };
        match dry_run {
            true => app.runtime.plan_migration(by, &migration, &part, &mut note)?,
            false => app.runtime.apply_migration(by, &migration, &part, &mut note)?,
        }
    };
    told.looked_at = went.looked_at;
    told.next = went.next.map(|it| it.to_string());
    Ok(told)
}

/// Refuses unknown lifecycles and versions.
fn check_version(law: &Law, lifecycle: &Name, version: u32) -> Result<(), Refused> {
    let versions: Vec<String> = law.versions(lifecycle).map(|it| it.to_string()).collect();
    if versions.is_empty() {
        let hint = did_you_mean(lifecycle, law.lifecycle_names().iter().map(Name::as_str));
        return Err(Refused::new(Code::UnknownLifecycle, format!("There is no lifecycle {lifecycle}{hint}")));
    }
    if law.definition(lifecycle, version).is_none() {
        let detail = format!(
            "{lifecycle} has no version {version}, only {}. Install a newer pack first (PUT /v1/packs)",
            versions.join(", ")
        );
        return Err(Refused::new(Code::UnknownVersion, detail));
    }
    Ok(())
}

fn add_result(told: &mut Migrated, it: &MigratedEntity) {
    let (count, named) = match it.outcome {
        Ok(_) => (&mut told.moved, &mut told.items),
        Err(_) => (&mut told.stuck, &mut told.cannot),
    };
    *count += 1;
    if named.len() < NAMED {
        named.push(MigratedOne {
            id: it.entity.id.to_string(),
            from: it.from,
            state: it.outcome.as_ref().ok().map(Name::to_string),
            refusal: it.outcome.as_ref().err().map(|it| Problem::from(&**it)),
        });
    }
}

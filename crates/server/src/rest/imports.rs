//! Imports entities from other systems.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use trackside_engine::command::ImportedEntity;
use trackside_engine::import_origin::ImportOrigin;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_protocol::{Import, ImportEntity, ImportReply, Problem};
use trackside_runtime::Imported as Outcome;
use trackside_store::Record;

use super::body::fields;
use super::{CommandHeaders, DryRun, Large, Parameters, journalled};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::telemetry::request_id;

/// Imports entities as they are, all or none. A journal entry for each says where it comes from. Entities that an
/// earlier import brought from the same place stay as they are.
#[utoipa::path(
    post, path = "/v1/import", tag = "journal", operation_id = "import", params(DryRun, super::KeyHeader), request_body = Import,
    responses((status = 200, body = ImportReply), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn import(
    State(app): State<App>,
    caller: Caller,
    headers: CommandHeaders,
    Parameters(how): Parameters<DryRun>,
    Large(body): Large<Import>,
) -> Result<Json<ImportReply>, Refused> {
    caller.must_be_admin("import entities")?;
    let most = app.limits().batch;
    if body.entities.len() > most {
        return Err(Refused::shape(format!("An import has at most {most} entities")));
    }
    let (actor, request) = (caller.actor().clone(), request_id());
    let entities = imported_entities(&body);
    let mut once = None;
    if let Some(used) = headers.used.filter(|_| !how.dry_run) {
        if let Some((first, count, _)) = journalled(&app, &used).await? {
            return again(&app, first, count, &body).await.map(Json);
        }
        once = Some((used.key.clone(), used.said(None)));
    }
    let done =
        app.blocking(move |app| Ok(app.runtime.import_once(&actor, request, once, entities, how.dry_run)?));
    match done.await? {
        Outcome::Refused(refusal) => Err((&*refusal).into()),
        Outcome::Done { brought, already } => Ok(Json(ImportReply {
            imported: brought,
            already: already.iter().map(EntityKey::to_string).collect(),
            dry_run: how.dry_run,
            replayed: false,
        })),
    }
}

/// The first answer again, from the entries of the import.
async fn again(app: &App, first: u64, count: u32, body: &Import) -> Result<ImportReply, Refused> {
    let entries = app.read(move |reads| {
        let records = reads.written_by(first, count)?;
        Ok(records.iter().map(Record::entry).collect::<Result<Vec<_>, _>>()?)
    });
    let entries = entries.await?;
    let imported = entries.iter().filter(|it| it.trigger == *"import" && it.version == 1);
    let brought: BTreeSet<EntityKey> = imported.map(|it| it.entity.clone()).collect();
    let asked = body.entities.iter().map(|it| EntityKey::new(it.lifecycle.as_str(), it.id.as_str()));
    Ok(ImportReply {
        imported: brought.len() as u64,
        already: asked.filter(|it| !brought.contains(it)).map(|it| it.to_string()).collect(),
        dry_run: false,
        replayed: true,
    })
}

/// The request as engine values.
pub fn imported_entities(body: &Import) -> Vec<ImportedEntity> {
    let file: Option<Arc<str>> = body.file.as_deref().map(Arc::from);
    let one = |(place, it): (usize, &ImportEntity)| {
        let counts = it.counts.iter().map(|it| (Name::new(&it.counter), Name::new(&it.key), it.value));
        let leases = it.leases.iter().map(|it| (Name::new(&it.slot), Name::new(&it.holder)));
        ImportedEntity {
            entity: EntityKey::new(it.lifecycle.as_str(), it.id.as_str()),
            state: it.state.as_deref().map(Name::new),
            fields: fields(&it.fields),
            tallies: counts.collect(),
            leases: leases.collect(),
            origin: ImportOrigin { name: Arc::from(it.origin.as_str()), file: file.clone() },
            place,
        }
    };
    body.entities.iter().enumerate().map(one).collect()
}

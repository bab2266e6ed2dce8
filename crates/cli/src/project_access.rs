//! Imports entities through the server of a project, or into its folder without a server.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackside_engine::actor::Actor;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::did_you_mean_or_all;
use trackside_lifecycle::name::Name;
use trackside_protocol::{Import, ImportReply, field_bodies, states_by_alias};
use trackside_runtime::{Imported as Outcome, Runtime};
use trackside_server::imported_entities;
use trackside_store::{Artifacts, StoreError};

use crate::args::DataArgs;
use crate::folder::{self, CliError};
use crate::project::ProjectLocation;
use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;

/// An existing project.
#[derive(Debug)]
pub(crate) enum ProjectAccess {
    Server(ServerConnection),
    /// A runtime for the duration of the command.
    Folder {
        data: DataArgs,
        runtime: Box<Runtime>,
        owner: Actor,
    },
}

impl ProjectAccess {
    /// Opens a project. With `standing`, for reads, the time of a folder stands still.
    pub(crate) fn open(project: ProjectLocation, standing: bool) -> Result<Self, CliError> {
        let data = match project {
            ProjectLocation::Server(server) => return Ok(Self::Server(server)),
            ProjectLocation::Folder(data) => data,
        };
        let owner = folder::owner("import")?;
        let store = Arc::new(folder::open(&data, "import")?);
        let runtime = match standing {
            true => folder::start_standing(&store, &[])?,
            false => folder::start(&data, &store, &[])?,
        };
        Ok(Self::Folder { data, runtime: Box::new(runtime), owner })
    }

    /// A lifecycle: its states, their other names, and its fields.
    pub(crate) fn lifecycle(&self, name: &str) -> Result<Json, RequestError> {
        let runtime = match self {
            Self::Server(server) => return server.get(&ApiPath::new(&["lifecycles", name])),
            Self::Folder { runtime, .. } => runtime,
        };
        let law = runtime.law();
        let Some(life) = law.newest(&Name::new(name)) else {
            let hint =
                did_you_mean_or_all(name, "Lifecycles", law.lifecycle_names().iter().map(Name::as_str));
            return Err(CliError::usage(format!("unknown lifecycle {name}{hint}")).into());
        };
        let states: Vec<&Name> = life.states.iter().map(|it| &it.name).collect();
        let (fields, known) = (field_bodies(life), states_by_alias(life));
        Ok(json!({ "lifecycle": life.name, "states": states, "fields": fields, "knownAs": known }))
    }

    /// Imports entities, all or none.
    pub(crate) fn import(&self, body: &Import, dry_run: bool) -> Result<ImportReply, RequestError> {
        match self {
            Self::Server(server) => {
                let answer = server.post(&ApiPath::new(&["import"]).with("dryRun", dry_run), body)?;
                serde_json::from_value(answer).map_err(|it| CliError::usage(it.to_string()).into())
            }
            Self::Folder { runtime, owner, .. } => {
                let done =
                    runtime.import(owner, None, imported_entities(body), dry_run).map_err(CliError::from)?;
                match done {
                    Outcome::Refused(refusal) => Err(RequestError::Refused(Box::new((&*refusal).into()))),
                    Outcome::Done { brought, already } => Ok(ImportReply {
                        imported: brought,
                        already: already.iter().map(EntityKey::to_string).collect(),
                        dry_run,
                        replayed: false,
                    }),
                }
            }
        }
    }

    /// Stores an artifact.
    pub(crate) fn put_artifact(&self, id: &str, content: &[u8]) -> Result<(), RequestError> {
        match self {
            Self::Server(server) => server.put_bytes(&ApiPath::new(&["artifacts", id]), content),
            Self::Folder { data, .. } => {
                let kept = Artifacts::of(&data.data).put(id, content).map(|_| ());
                Ok(kept.map_err(|it| StoreError::io(format!("artifact {id}"), it)).map_err(CliError::from)?)
            }
        }
    }

    /// Closes it after everything is written.
    pub(crate) fn close(self) -> Result<(), CliError> {
        if let Self::Folder { runtime, .. } = self {
            runtime.wait_until_written()?;
            runtime.stop();
        }
        Ok(())
    }
}

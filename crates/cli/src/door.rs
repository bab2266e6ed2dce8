//! Where entities come in: the server of a project, or its folder while none runs.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::name::Name;
use trackside_protocol::{Import, Imported};
use trackside_runtime::{Imported as Outcome, Runtime};
use trackside_server::{adopted, problem_of};
use trackside_store::{Artifacts, StoreError};

use crate::args::DataArgs;
use crate::folder::{self, Stopped};
use crate::project::Project;
use crate::reach::{Server, Unanswered};
use crate::route::Route;

/// A project that is there.
#[derive(Debug)]
pub(crate) enum Door {
    Server(Server),
    /// Started for as long as it takes.
    Folder(DataArgs, Box<Runtime>),
}

impl Door {
    /// The door of a project. Where nothing is to change, the time of a folder stands still.
    pub(crate) fn open(project: Project, standing: bool) -> Result<Self, Stopped> {
        let data = match project {
            Project::Server(server) => return Ok(Self::Server(server)),
            Project::Folder(data) => data,
        };
        let store = Arc::new(folder::open(&data, "import")?);
        let runtime = match standing {
            true => folder::start_standing(&store, &[])?,
            false => folder::start(&data, &store, &[])?,
        };
        Ok(Self::Folder(data, Box::new(runtime)))
    }

    /// A lifecycle: its states, what others call them, and its fields.
    pub(crate) fn lifecycle(&self, name: &str) -> Result<Json, Unanswered> {
        let runtime = match self {
            Self::Server(server) => return server.get(&Route::new(&["lifecycles", name])),
            Self::Folder(_, runtime) => runtime,
        };
        let law = runtime.law();
        let Some(life) = law.newest(&Name::new(name)) else {
            let near = nearest(name, law.lifecycle_names().iter().map(Name::as_str));
            let hint = near.map(|it| format!(". Did you mean {it}?")).unwrap_or_default();
            return Err(Stopped::usage(format!("there is no lifecycle {name}{hint}")).into());
        };
        let states: Vec<&Name> = life.states.iter().map(|it| &it.name).collect();
        let (fields, known) = (life.fields_told(), life.known_as_told());
        Ok(json!({ "lifecycle": life.name, "states": states, "fields": fields, "knownAs": known }))
    }

    /// Brings entities in, all or none.
    pub(crate) fn import(&self, body: &Import, dry_run: bool) -> Result<Imported, Unanswered> {
        match self {
            Self::Server(server) => {
                let told = server.post(&Route::new(&["import"]).with("dryRun", dry_run), body)?;
                serde_json::from_value(told).map_err(|it| Stopped::usage(it.to_string()).into())
            }
            Self::Folder(_, runtime) => {
                let done =
                    runtime.import(&folder::owner(), None, adopted(body), dry_run).map_err(Stopped::from)?;
                match done {
                    Outcome::Refused(refusal) => Err(Unanswered::Refused(Box::new(problem_of(&refusal)))),
                    Outcome::Done { brought, already } => Ok(Imported {
                        imported: brought,
                        already: already.iter().map(EntityKey::to_string).collect(),
                        dry_run,
                        replayed: false,
                    }),
                }
            }
        }
    }

    /// Keeps an artifact.
    pub(crate) fn put_artifact(&self, id: &str, content: &[u8]) -> Result<(), Unanswered> {
        match self {
            Self::Server(server) => server.put_bytes(&Route::new(&["artifacts", id]), content),
            Self::Folder(data, _) => {
                let kept = Artifacts::of(&data.data).put(id, content).map(|_| ());
                Ok(kept.map_err(|it| StoreError::io(format!("artifact {id}"), it)).map_err(Stopped::from)?)
            }
        }
    }

    /// Leaves, when everything is written.
    pub(crate) fn close(self) -> Result<(), Stopped> {
        if let Self::Folder(_, runtime) = self {
            runtime.wait_until_written()?;
            runtime.stop();
        }
        Ok(())
    }
}

//! Migrations by the server that has the folder.

use serde_json::{Value as Json, json};
use trackside_lifecycle::name::Name;

use super::{Moves, One};
use crate::args::{MigrateCommand, MigrateToArgs};
use crate::folder;
use crate::moment::{list, text};
use crate::reach::{Server, Unanswered};
use crate::route::Route;
use crate::values;

pub(super) fn run(command: &MigrateCommand, server: &Server) -> Result<Moves, Unanswered> {
    let (lifecycle, verb, code, told) = match command {
        MigrateCommand::Plan(args) => {
            if args.pack.is_some() {
                return Err(folder::needs_the_folder(&args.data, "a plan with --pack").into());
            }
            let route = Route::new(&["migrations"]).with("dryRun", true);
            (&args.lifecycle, "would move", "planned", server.post(&route, &body(args)?)?)
        }
        MigrateCommand::Apply(args) => {
            if let Some(pack) = &args.pack {
                crate::commands::pack::install(server, pack)?;
            }
            (&args.lifecycle, "moved", "moved", server.post(&Route::new(&["migrations"]), &body(args)?)?)
        }
        MigrateCommand::Undo(args) => {
            let body = json!({ "lifecycle": args.lifecycle, "to": args.version, "undo": true });
            (&args.lifecycle, "moved back", "undone", server.post(&Route::new(&["migrations"]), &body)?)
        }
    };
    let all = list(&told, "items").iter().chain(list(&told, "cannot")).map(one);
    Ok(Moves { lifecycle: Name::new(lifecycle), verb, code, all: all.collect() })
}

fn body(args: &MigrateToArgs) -> Result<Json, Unanswered> {
    let states = super::states(&args.state)?;
    let states: serde_json::Map<String, Json> =
        states.iter().map(|(old, new)| (old.to_string(), json!(new))).collect();
    let fields = values::to_send(&args.field)?;
    Ok(json!({ "lifecycle": args.lifecycle, "to": args.to, "states": states, "fields": fields }))
}

fn one(it: &Json) -> One {
    let outcome = match it.get("refusal").filter(|it| !it.is_null()) {
        Some(refusal) => Err((text(refusal, "detail").to_owned(), refusal.clone())),
        None => Ok(text(it, "state").to_owned()),
    };
    let from = it.get("from").and_then(Json::as_u64).and_then(|it| u32::try_from(it).ok());
    One { id: text(it, "id").to_owned(), from: from.unwrap_or_default(), outcome }
}

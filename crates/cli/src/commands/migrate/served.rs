//! Migrations by the server that has the folder.

use serde_json::{Value as Json, json};
use trackside_lifecycle::name::Name;

use super::{Moves, One};
use crate::args::{MigrateCommand, MigrateToArgs};
use crate::folder;
use crate::print::ProgressBar;
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{list, text};
use crate::url::ApiPath;
use crate::values;

/// Entities per request.
const PAGE: u64 = 500;

pub(super) fn run(command: &MigrateCommand, server: &ServerConnection) -> Result<Moves, RequestError> {
    let route = ApiPath::new(&["migrations"]);
    let (lifecycle, verb, code, route, body) = match command {
        MigrateCommand::Plan(args) => {
            if args.pack.is_some() {
                return Err(folder::needs_the_folder(server, "a plan with --pack").into());
            }
            (&args.lifecycle, "would move", "planned", route.with("dryRun", true), body(args)?)
        }
        MigrateCommand::Apply(args) => {
            if let Some(pack) = &args.pack {
                // Wrong usage installs nothing.
                super::must_bring(pack, &args.lifecycle, args.to)?;
                crate::commands::pack::install(server, pack)?;
            }
            (&args.lifecycle, "moved", "moved", route, body(args)?)
        }
        MigrateCommand::Undo(args) => {
            let body = json!({ "lifecycle": args.lifecycle, "to": args.version, "undo": true });
            (&args.lifecycle, "moved back", "undone", route, body)
        }
    };
    let all = every_page(server, lifecycle, &route, body)?;
    Ok(Moves { lifecycle: Name::new(lifecycle), verb, code, all })
}

/// Requests page by page until all are done, with a progress bar.
fn every_page(
    server: &ServerConnection,
    lifecycle: &str,
    route: &ApiPath,
    mut body: Json,
) -> Result<Vec<One>, RequestError> {
    let stats = server.get(&ApiPath::new(&["stats"]).with("lifecycle", lifecycle));
    let entities = |it: &Json| {
        it.get("states").and_then(Json::as_object).map(|it| it.values().filter_map(Json::as_u64).sum())
    };
    // Only for the progress bar: the first page reports an unknown lifecycle.
    let whole: u64 = stats.ok().as_ref().and_then(entities).unwrap_or_default();
    let bar = ProgressBar::new("migrate");
    let (mut all, mut looked_at) = (Vec::new(), 0);
    put(&mut body, "limit", PAGE.into());
    let done = loop {
        let answer = match server.post(route, &body) {
            Ok(answer) => answer,
            Err(error) => break Err(error),
        };
        all.extend(list(&answer, "items").iter().chain(list(&answer, "cannot")).map(one));
        looked_at += answer.get("lookedAt").and_then(Json::as_u64).unwrap_or_default();
        bar.show(folder::share(looked_at, whole.max(looked_at)), &format!("{looked_at} entities"));
        match answer.get("next").and_then(Json::as_str) {
            Some(next) => put(&mut body, "after", next.into()),
            None => break Ok(()),
        }
    };
    bar.done();
    done.map(|()| all)
}

fn put(body: &mut Json, name: &str, value: Json) {
    if let Some(body) = body.as_object_mut() {
        body.insert(name.to_owned(), value);
    }
}

fn body(args: &MigrateToArgs) -> Result<Json, RequestError> {
    let states = super::states(&args.state)?;
    let states: serde_json::Map<String, Json> =
        states.iter().map(|(old, new)| (old.to_string(), json!(new))).collect();
    let fields = values::to_send(&args.field)?;
    Ok(json!({ "lifecycle": args.lifecycle, "to": args.to, "states": states, "fields": fields }))
}

fn one(it: &Json) -> One {
    let outcome = match it.get("refusal").filter(|it| !it.is_null()) {
        Some(refusal) => Err(refusal.clone()),
        None => Ok(text(it, "state").to_owned()),
    };
    let from = it.get("from").and_then(Json::as_u64).and_then(|it| u32::try_from(it).ok());
    One { id: text(it, "id").to_owned(), from: from.unwrap_or_default(), outcome }
}

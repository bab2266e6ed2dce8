//! `trackside redact`: values and words of an entity leave the journal, and the chain still verifies.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackside_engine::Decision;
use trackside_engine::event::Event;
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::{Code, Refusal};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::Problem;
use trackside_runtime::{CommandAnswer, Redaction};
use trackside_store::Store;
use trackside_store::archive::{Archive, folder_of};

use crate::args::{DataArgs, RedactArgs};
use crate::folder::{self, CliError, count_with_noun};
use crate::project::ProjectLocation;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{list, number};
use crate::url::ApiPath;
use crate::{exit, print, values};

pub(crate) fn run(args: &RedactArgs) -> u8 {
    let data = match ProjectLocation::find(&args.data) {
        Ok(ProjectLocation::Server(server)) => {
            let (lifecycle, id) = args.entity.split_once('/').unwrap_or((&args.entity, ""));
            return refused::finish(served(args, &server), CommandSubject::entity(lifecycle, id), args.json);
        }
        Ok(ProjectLocation::Folder(data)) => data,
        Err(stopped) => return stopped.report(),
    };
    match redact(args, &data) {
        Ok(Ok(dropped)) => print::answer(&dropped.to_json(), args.json, |_| dropped.show()),
        Ok(Err(refusal)) => {
            if args.json {
                print::json(&serde_json::to_value(Problem::from(&*refusal)).unwrap_or_default());
            }
            print::message(refusal.to_string());
            if refusal.code == Code::CannotRedact {
                print::message(
                    "Set new values with --set NAME=VALUE, or choose entries with --entry N (repeatable).",
                );
            }
            exit::REFUSED
        }
        Err(stopped) => stopped.report(),
    }
}

/// Redacts through the server that owns the folder.
fn served(args: &RedactArgs, server: &ServerConnection) -> Result<u8, RequestError> {
    let (lifecycle, id) = crate::print_transition::parse_entity(&args.entity)?;
    let body = json!({
        "lifecycle": lifecycle, "id": id, "entries": args.entry, "all": args.entry.is_empty(),
        "becomes": values::to_send(&args.set)?, "reason": args.reason,
    });
    let route = ApiPath::new(&["redactions"]).with_some("dryRun", args.dry_run.then_some(true));
    let answer = server.post(&route, &body)?;
    let fields = answer.get("fields").and_then(Json::as_object).into_iter().flatten();
    let dropped = Dropped {
        entity: EntityKey::new(lifecycle, id),
        dry_run: args.dry_run,
        seq: number(&answer, "seq"),
        entries: list(&answer, "entries").iter().filter_map(Json::as_u64).collect(),
        fields: fields.map(|(name, value)| (Name::new(name), Value::from_json(value))).collect(),
    };
    Ok(print::answer(&dropped.to_json(), args.json, |_| dropped.show()))
}

/// The result of a redaction.
struct Dropped {
    entity: EntityKey,
    /// It was only decided, and nothing changed.
    dry_run: bool,
    /// The entry of the redaction.
    seq: u64,
    entries: Vec<u64>,
    /// Fields whose values came from them, each with its new value.
    fields: Vec<(Name, Value)>,
}

fn redact(args: &RedactArgs, data: &DataArgs) -> Result<Result<Dropped, Box<Refusal>>, CliError> {
    let Some(entity) = EntityKey::parse(&args.entity) else {
        return Err(CliError::usage(format!("{}: name an entity as LIFECYCLE/ID", args.entity)));
    };
    let becomes = values::fields(&args.set)?;
    let owner = folder::owner("redact")?;
    let store = Arc::new(folder::open(data, "redact")?);
    let runtime = folder::start(data, &store, &[])?;
    let archive = Archive::of(&data.data)?;
    let last = runtime.entity(&entity)?.map_or(0, |it| it.seq);
    let mut records = archive.trail(store.reader()?.as_mut(), last, usize::MAX)?;
    records.reverse();
    let missing = records.first().map_or(last, |it| it.prev);
    if missing > 0 {
        let why = format!(
            "entry {missing} of {entity} was archived and its archive file is missing from {}: put it back first",
            folder_of(&data.data).display()
        );
        return Err(CliError::refused(why));
    }
    let (entries, reason) = (args.entry.clone(), args.reason.clone());
    let redaction = Redaction { entity: entity.clone(), entries, becomes, reason, once: None };
    let done_before = |first: u64| Err(CliError::refused(format!("already done by entry {first}")));
    let entry = match args.dry_run {
        true => match runtime.try_redaction(owner, redaction, &records)? {
            Decision::Accepted(accepted) => accepted.entries.get(accepted.root).cloned(),
            Decision::Refused(refusal) => return Ok(Err(refusal)),
            Decision::Replayed { first, .. } => return done_before(first),
        },
        false => match runtime.redact_knowing(owner, redaction, &records)? {
            CommandAnswer::Accepted(accepted) => accepted.entry().cloned(),
            CommandAnswer::Refused(refusal) => return Ok(Err(refusal)),
            CommandAnswer::Replayed { first, .. } => return done_before(first),
        },
    };
    let mut dropped =
        Dropped { entity, dry_run: args.dry_run, seq: 0, entries: Vec::new(), fields: Vec::new() };
    if let Some(entry) = entry
        && let Event::Redacted { entries, changes } = &entry.event
    {
        dropped.seq = entry.seq;
        dropped.entries.clone_from(entries);
        dropped.fields.clone_from(&changes.fields);
    }
    runtime.wait_until_written()?;
    runtime.stop();
    Ok(Ok(dropped))
}

impl Dropped {
    fn show(&self) {
        let list: Vec<String> = self.entries.iter().map(ToString::to_string).collect();
        let verb = if self.dry_run { "would erase" } else { "erased" };
        print::line(styled!(
            "{verb} the values of {} of {}: {}",
            count_with_noun(self.entries.len() as u64, "entry", "entries"),
            self.entity,
            list.join(", ")
        ));
        for (name, value) in &self.fields {
            match value.is_null() {
                true if self.dry_run => print::line(styled!("  {name} would be cleared")),
                true => print::line(styled!("  {name} is cleared")),
                false if self.dry_run => print::line(styled!("  {name} would be {}", value.to_json())),
                false => print::line(styled!("  {name} is now {}", value.to_json())),
            }
        }
        if self.dry_run {
            return print::line("dry run: nothing was changed");
        }
        print::line(styled!("recorded as entry {}", self.seq));
        print::message("Backups, exports and entries of other entities may still contain the values.");
    }

    fn to_json(&self) -> Json {
        let fields: Json =
            self.fields.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect();
        let EntityKey { lifecycle, id } = &self.entity;
        let mut answer = json!({
            "success": true, "lifecycle": lifecycle, "id": id, "entries": self.entries, "fields": fields,
        });
        let (name, value) = if self.dry_run { ("dryRun", json!(true)) } else { ("seq", json!(self.seq)) };
        answer.as_object_mut().map(|it| it.insert(name.to_owned(), value));
        answer
    }
}

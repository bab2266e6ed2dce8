//! Imports the tasks of another tool, mapped to a lifecycle.

use serde_json::{Value as Json, json};
use trackside_protocol::{ImportEntity, UnmetBody};

use super::in_the_way;
use super::send::{Sent, send};
use crate::args::{ForeignTool, ImportArgs};
use crate::folder::{self, CliError, count_with_noun};
use crate::foreign::{self, Mapped, TargetLifecycle, Wishes};
use crate::project::ProjectLocation;
use crate::project_access::ProjectAccess;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::RequestError;
use crate::{exit, person, print};

pub(super) fn run(args: &ImportArgs, tool: ForeignTool) -> u8 {
    let into = args.into.as_deref().unwrap_or_default();
    refused::finish(import(args, tool, into), CommandSubject::lifecycle(into), args.json)
}

fn import(args: &ImportArgs, tool: ForeignTool, into: &str) -> Result<u8, RequestError> {
    let wishes = wishes(args)?;
    let project = ProjectLocation::find_or_new(&args.data)?;
    if let ProjectLocation::Folder(data) = &project
        && !folder::is_project(data)
    {
        let data = data.data.display();
        return Err(CliError::unreachable(format!(
            "no project in {data}. {}, or name another with --data",
            person::start_server(&format!("trackside up --data {data}"))
        ))
        .into());
    }
    let door = ProjectAccess::open(project, args.dry_run)?;
    let target = TargetLifecycle::of(&door.lifecycle(into)?);
    let mut found = foreign::read(tool, &args.file);
    let name = args.file.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    for thing in &mut found.things {
        thing.values.entry("file").or_insert_with(|| json!(name));
    }
    // Unreadable tasks are mistakes in the file; missing mappings are mistakes on the command line.
    let unread = if found.troubles.is_empty() { exit::USAGE } else { exit::REFUSED };
    let to_set = |entity: &ImportEntity, unmet: &UnmetBody| target.to_set(entity.state.as_deref()?, unmet);
    let code = match foreign::mapped(tool.name(), found, &target, &wishes) {
        Err(troubles) => in_the_way(args, &troubles, unread),
        Ok(mapped) => match send(&door, &mapped.entities, &name, args.dry_run, &to_set)? {
            Err(troubles) => in_the_way(args, &troubles, exit::REFUSED),
            Ok(sent) => {
                let show = |_: &Json| print_answer(args, into, &mapped, &sent);
                print::answer(&to_json(args, &mapped, &sent), args.json, show)
            }
        },
    };
    door.close()?;
    Ok(code)
}

fn wishes(args: &ImportArgs) -> Result<Wishes, CliError> {
    let pair = |typed: &String, how: &str| {
        let both = typed.split_once('=').filter(|(key, _)| !key.is_empty());
        let both = both.map(|(key, value)| (key.to_owned(), value.to_owned()));
        both.ok_or_else(|| CliError::usage(format!("{typed}: write {how}")))
    };
    let pairs = |all: &[String], how: &str| all.iter().map(|it| pair(it, how)).collect::<Result<Vec<_>, _>>();
    let value = |typed: &String| -> Result<(String, String, Json), CliError> {
        let wrong = || CliError::usage(format!("{typed}: write --value KEY:THEIRS=OURS, or := for json"));
        let (key, rest) = typed.split_once(':').filter(|(key, _)| !key.is_empty()).ok_or_else(wrong)?;
        let (theirs, ours) = rest.split_once('=').ok_or_else(wrong)?;
        match theirs.strip_suffix(':') {
            None => Ok((key.to_owned(), theirs.to_owned(), json!(ours))),
            Some(theirs) => {
                let ours: Json = serde_json::from_str(ours).map_err(|_| wrong())?;
                Ok((key.to_owned(), theirs.to_owned(), ours))
            }
        }
    };
    let set = |typed: &String| -> Result<(Option<String>, String, Json), CliError> {
        let wrong =
            || CliError::usage(format!("{typed}: write --set FIELD=TEXT, FIELD:=JSON or STATE:FIELD=TEXT"));
        let (left, text) = typed.split_once('=').ok_or_else(wrong)?;
        let (left, value) = match left.strip_suffix(':') {
            Some(left) => (left, serde_json::from_str(text).map_err(|_| wrong())?),
            None => (left, json!(text)),
        };
        let (state, field) = left.split_once(':').map_or((None, left), |(state, field)| (Some(state), field));
        match field {
            "" => Err(wrong()),
            field => Ok((state.map(str::to_owned), field.to_owned(), value)),
        }
    };
    Ok(Wishes {
        fields: pairs(&args.map, "--map KEY=FIELD, or --map KEY= to leave it out")?,
        states: pairs(&args.state, "--state THEIRS=OURS, or --state THEIRS=- to leave those out")?,
        values: args.value.iter().map(value).collect::<Result<Vec<_>, _>>()?,
        sets: args.set.iter().map(set).collect::<Result<Vec<_>, _>>()?,
        only: pairs(&args.only, "--only KEY=VALUE")?,
    })
}

fn print_answer(args: &ImportArgs, into: &str, mapped: &Mapped, sent: &Sent) {
    let mark = super::dry_run_mark(args);
    let what = if args.dry_run { "would be imported" } else { "imported" };
    let count = count_with_noun(sent.imported, "entity", "entities");
    print::line(styled!("{mark}{count} of {into} {what} from {}", args.file.display()));
    for ((theirs, ours), count) in &mapped.states {
        print::line(styled!("  {theirs} is {ours}: {count}"));
    }
    let fields: Vec<String> = mapped.fields.iter().map(|(key, field)| format!("{key} to {field}")).collect();
    if !fields.is_empty() {
        print::line(styled!("  {}", fields.join(", ")));
    }
    if !sent.already.is_empty() {
        let already = count_with_noun(sent.already.len() as u64, "was", "were");
        print::line(styled!("{already} already imported, unchanged"));
    }
    for it in &mapped.left_out {
        print::line(styled!("skipped: {it}"));
    }
    let without: Vec<String> = mapped
        .without
        .iter()
        .filter(|(key, _)| key.as_str() != "file")
        .map(|(key, count)| format!("{key} ({count})"))
        .collect();
    if !without.is_empty() {
        print::message(styled!(
            "Not imported, because no field has that name: {}. Map a key with --map KEY=FIELD.",
            without.join(", ")
        ));
    }
}

fn to_json(args: &ImportArgs, mapped: &Mapped, sent: &Sent) -> Json {
    let states: Vec<Json> = mapped
        .states
        .iter()
        .map(|((theirs, ours), count)| json!({ "theirs": theirs, "ours": ours, "count": count }))
        .collect();
    json!({
        "success": true, "dryRun": args.dry_run, "imported": sent.imported, "already": sent.already,
        "states": states, "fields": mapped.fields, "withoutField": mapped.without, "leftOut": mapped.left_out,
    })
}

//! `trackside batch`: many commands in one request.

use std::io::Read as _;
use std::path::Path;

use serde_json::{Value as Json, json};
use trackside_protocol::{MovedReply, Problem};

use crate::args::BatchArgs;
use crate::folder::CliError;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::list;
use crate::url::ApiPath;
use crate::{exit, files, print, print_transition};

/// Most bytes of a batch.
const MOST: u64 = 1 << 20;

pub(crate) fn run(args: &BatchArgs) -> u8 {
    refused::finish(batch(args), CommandSubject::default(), args.ask.json)
}

fn batch(args: &BatchArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?.acting_for(args.count.on_behalf.as_deref());
    let body = json!({ "commands": commands(&args.file)?, "atomic": args.atomic });
    let route = ApiPath::new(&["batch"]).with_some("dryRun", args.dry_run.then_some(true));
    let answer =
        server.post_with(&route, &body, &super::fire::headers(args.count.key.as_deref(), None))?.body;
    print::answer(&answer, args.ask.json, |it| {
        list(it, "results").iter().enumerate().for_each(|(place, it)| print_result(place + 1, it));
    });
    let refused = list(&answer, "results").iter().any(|it| it.get("code").is_some());
    Ok(if refused { exit::REFUSED } else { exit::DONE })
}

/// The commands of a file: a list, or an object with the list as `commands`.
fn commands(file: &Path) -> Result<Json, CliError> {
    let wrong = |why: String| CliError::usage(styled!("{}: {why}", file.display()));
    let text = match file.to_str() {
        Some("-") => {
            let mut text = String::new();
            let read = std::io::stdin().lock().take(MOST + 1).read_to_string(&mut text);
            read.map_err(|error| wrong(files::reading(&error)))?;
            text
        }
        _ => files::read_text(file, MOST).map_err(|error| CliError::usage(files::unread(file, &error)))?,
    };
    let read: Json =
        serde_json::from_str(&text).map_err(|error| wrong(format!("this is not valid JSON ({error})")))?;
    let commands = match read {
        Json::Object(mut members) => members.remove("commands").unwrap_or_default(),
        commands => commands,
    };
    if !commands.is_array() {
        return Err(wrong("write a list of commands, such as [{\"lifecycle\":\"mission.task\",\"fields\":{\"title\":\"One\"}}]".to_owned()));
    }
    Ok(commands)
}

/// The outcome of one command, with its number.
fn print_result(number: usize, it: &Json) {
    if let Ok(problem) = serde_json::from_value::<Problem>(it.clone()) {
        print::message(styled!("{number}: {}", refused::render(&problem, CommandSubject::default())));
        return;
    }
    match serde_json::from_value::<MovedReply>(it.clone()) {
        Ok(moved) => print_transition::print(&moved),
        Err(_) => print::line(styled!("{number}: done")),
    }
}

//! `trackside fire`: requests a transition by its event or its target state.

use serde_json::Value as Json;
use trackside_protocol::{MovedReply, TransitionBody};

use crate::args::FireArgs;
use crate::field_types::FieldTypes;
use crate::folder::CliError;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;
use crate::{exit, print, print_transition, values};

pub(crate) fn run(args: &FireArgs) -> u8 {
    let (lifecycle, id) = match print_transition::parse_entity(&args.entity) {
        Ok(named) => named,
        Err(stopped) => return stopped.report(),
    };
    let (_, typed) = words(args.event.as_deref(), &args.fields);
    let outcome = fire(args, lifecycle, id);
    let types = FieldTypes::for_hints(&outcome, &args.ask.reach, lifecycle);
    let about = CommandSubject::entity(lifecycle, id).with_typed(&typed).with_types(&types);
    refused::finish(outcome, about, args.ask.json)
}

fn fire(args: &FireArgs, lifecycle: &str, id: &str) -> Result<u8, RequestError> {
    let (event, fields) = words(args.event.as_deref(), &args.fields);
    if event.is_some() == args.to.is_some() {
        let why = match event {
            Some(event) => format!("give the event ({event}) or --to, not both"),
            None => {
                format!("give an event, or --to STATE. List them with: trackside explain {}", args.entity)
            }
        };
        return Err(CliError::usage(why).into());
    }
    let body = TransitionBody {
        to: args.to.clone(),
        event,
        fields: values::to_send(&fields)?,
        reason: args.reason.clone(),
        fence: args.fence,
    };
    let server = ServerConnection::find(&args.ask.reach)?.acting_for(args.count.on_behalf.as_deref());
    let route = ApiPath::new(&["entities", lifecycle, id, "transitions"]);
    let route = route.with_some("dryRun", args.dry_run.then_some(true));
    let version = args.if_version.map(|it| format!("\"{it}\""));
    let response =
        server.post_with(&route, &body, &headers(args.count.key.as_deref(), version.as_deref()))?;
    print_answer(response.body, args.ask.json)?;
    Ok(exit::DONE)
}

/// An event and values, however they were typed: a word with `=` in it is a value.
pub(super) fn words(event: Option<&str>, fields: &[String]) -> (Option<String>, Vec<String>) {
    let mut fields = fields.to_vec();
    match event {
        Some(word) if values::is_value(word) => {
            fields.insert(0, word.to_owned());
            (None, fields)
        }
        word => (word.map(str::to_owned), fields),
    }
}

/// The headers of a command.
pub(super) fn headers<'a>(key: Option<&'a str>, version: Option<&'a str>) -> Vec<(&'static str, &'a str)> {
    let key = key.map(|it| ("idempotency-key", it));
    key.into_iter().chain(version.map(|it| ("if-match", it))).collect()
}

/// Prints the result.
pub(super) fn print_answer(body: Json, json: bool) -> Result<(), RequestError> {
    if json {
        print::json(&body);
        return Ok(());
    }
    let read: Result<MovedReply, _> = serde_json::from_value(body);
    let moved = read.map_err(|error| {
        CliError::unreachable(format!(
            "this release cannot read the server's answer ({error}). Print it with --json"
        ))
    })?;
    print_transition::print(&moved);
    Ok(())
}

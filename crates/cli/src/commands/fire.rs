//! `trackside fire`: the one door for every change of state.

use serde_json::Value as Json;
use trackside_protocol::{Moved, Transition};

use crate::args::FireArgs;
use crate::folder::Stopped;
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{exit, moved, print, values};

pub(crate) fn run(args: &FireArgs) -> u8 {
    let (lifecycle, id) = match moved::named(&args.entity) {
        Ok(named) => named,
        Err(stopped) => return stopped.told(),
    };
    refused::ended(fire(args, lifecycle, id), About::entity(lifecycle, id), args.ask.json)
}

fn fire(args: &FireArgs, lifecycle: &str, id: &str) -> Result<u8, Unanswered> {
    let (event, fields) = words(args.event.as_deref(), &args.fields);
    if event.is_some() == args.to.is_some() {
        let why = match event {
            Some(event) => format!("say the event ({event}) or --to, not both"),
            None => format!(
                "say what to ask for: an event, or --to STATE. See them with: trackside explain {}",
                args.entity
            ),
        };
        return Err(Stopped::usage(why).into());
    }
    let body = Transition {
        to: args.to.clone(),
        event,
        fields: values::to_send(&fields)?,
        reason: args.reason.clone(),
        fence: args.fence,
    };
    let server = Server::find(&args.ask.reach)?.acting_for(args.count.on_behalf.as_deref());
    let route = Route::new(&["entities", lifecycle, id, "transitions"]);
    let route = route.with_some("dryRun", args.dry_run.then_some(true));
    let version = args.if_version.map(|it| format!("\"{it}\""));
    let told = server.post_with(&route, &body, &headers(args.count.key.as_deref(), version.as_deref()))?;
    tell(told.body, args.ask.json)?;
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

/// What a command says beside its body.
pub(super) fn headers<'a>(key: Option<&'a str>, version: Option<&'a str>) -> Vec<(&'static str, &'a str)> {
    let key = key.map(|it| ("idempotency-key", it));
    key.into_iter().chain(version.map(|it| ("if-match", it))).collect()
}

/// Tells what became of it.
pub(super) fn tell(body: Json, json: bool) -> Result<(), Unanswered> {
    if json {
        print::line(&format!("{body:#}"));
        return Ok(());
    }
    let read: Result<Moved, _> = serde_json::from_value(body);
    let moved = read.map_err(|error| Stopped {
        why: format!(
            "the server said something that this release does not know ({error}): see it with --json"
        ),
        code: exit::UNREACHABLE,
    })?;
    moved::tell(&moved);
    Ok(())
}

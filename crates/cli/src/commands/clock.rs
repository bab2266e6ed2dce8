//! `trackside clock`: shows the server's time, and advances a manual clock.

use serde_json::Value as Json;
use trackside_protocol::Advance;

use crate::args::{ClockAdvanceArgs, ClockArgs, ClockCommand};
use crate::print;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::text;
use crate::url::ApiPath;

pub(crate) fn run(args: &ClockArgs) -> u8 {
    let (outcome, json) = match &args.command {
        Some(ClockCommand::Advance(args)) => (advance(args), args.ask.json),
        None => (show(args), args.ask.json),
    };
    refused::finish(outcome, CommandSubject::default(), json)
}

fn show(args: &ClockArgs) -> Result<u8, RequestError> {
    let answer = ServerConnection::find(&args.ask.reach)?.get(&ApiPath::new(&["clock"]))?;
    Ok(print::answer(&answer, args.ask.json, show_clock))
}

fn advance(args: &ClockAdvanceArgs) -> Result<u8, RequestError> {
    let body = Advance { by: args.by.clone(), to: args.to.clone() };
    let answer =
        ServerConnection::find(&args.ask.reach)?.post(&ApiPath::new(&["clock", "advance"]), &body)?;
    Ok(print::answer(&answer, args.ask.json, show_clock))
}

fn show_clock(answer: &Json) {
    let whose = if text(answer, "clock") == "manual" { "manual clock" } else { "system clock" };
    print::line(styled!("{} ({whose})", text(answer, "now")));
}

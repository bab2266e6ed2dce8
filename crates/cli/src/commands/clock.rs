//! `trackside clock`: the time of the server, and moving it where it is moved by hand.

use serde_json::Value as Json;
use trackside_protocol::Advance;

use crate::args::{ClockAdvanceArgs, ClockArgs, ClockCommand};
use crate::moment::text;
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{exit, print};

pub(crate) fn run(args: &ClockArgs) -> u8 {
    let (outcome, json) = match &args.command {
        Some(ClockCommand::Advance(args)) => (advance(args), args.ask.json),
        None => (show(args), args.ask.json),
    };
    refused::ended(outcome, About::default(), json)
}

fn show(args: &ClockArgs) -> Result<u8, Unanswered> {
    let told = Server::find(&args.ask.reach)?.get(&Route::new(&["clock"]))?;
    tell(&told, args.ask.json);
    Ok(exit::DONE)
}

fn advance(args: &ClockAdvanceArgs) -> Result<u8, Unanswered> {
    let body = Advance { by: args.by.clone(), to: args.to.clone() };
    let told = Server::find(&args.ask.reach)?.post(&Route::new(&["clock", "advance"]), &body)?;
    tell(&told, args.ask.json);
    Ok(exit::DONE)
}

fn tell(told: &Json, json: bool) {
    match json {
        true => print::line(&format!("{told:#}")),
        false => {
            let whose = if text(told, "clock") == "manual" { "moved by hand" } else { "the machine's" };
            print::line(&format!("{} ({whose})", text(told, "now")));
        }
    }
}

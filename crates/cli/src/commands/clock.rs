//! `trackside clock`: shows the server's time, advances a manual clock, and corrects project time.

use serde_json::Value as Json;
use trackside_protocol::{Advance, CorrectClock, CorrectionDirection};

use crate::args::{ClockAdvanceArgs, ClockArgs, ClockCommand, ClockCorrectArgs};
use crate::print;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::text;
use crate::url::ApiPath;

pub(crate) fn run(args: &ClockArgs) -> u8 {
    let (outcome, json) = match &args.command {
        Some(ClockCommand::Advance(args)) => (advance(args), args.ask.json),
        Some(ClockCommand::Accept(args)) => (correct(args, CorrectionDirection::Forward), args.ask.json),
        Some(ClockCommand::Reset(args)) => (correct(args, CorrectionDirection::Back), args.ask.json),
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

fn correct(args: &ClockCorrectArgs, direction: CorrectionDirection) -> Result<u8, RequestError> {
    let body = CorrectClock { direction, reason: args.reason.clone() };
    let answer =
        ServerConnection::find(&args.ask.reach)?.post(&ApiPath::new(&["clock", "correct"]), &body)?;
    Ok(print::answer(&answer, args.ask.json, show_correction))
}

fn show_correction(answer: &Json) {
    print::line(styled!("project time moved from {} to {}", text(answer, "from"), text(answer, "to")));
    let number = |name: &str| answer.get(name).and_then(Json::as_u64).unwrap_or_default();
    if number("moved") > 0 {
        print::line(styled!("timers or leases of {} moved with it", entities(number("moved"))));
    }
    if number("unmoved") > 0 {
        print::line(styled!(
            "timers of {} were not moved, because their records cannot be read. Run: trackside validate --deep",
            entities(number("unmoved"))
        ));
    }
}

fn entities(count: u64) -> String {
    if count == 1 { "1 entity".to_owned() } else { format!("{count} entities") }
}

fn show_clock(answer: &Json) {
    let whose = if text(answer, "clock") == "manual" { "manual clock" } else { "system clock" };
    print::line(styled!("{} ({whose})", text(answer, "now")));
    if let Some(machine) = answer.get("machine").and_then(Json::as_str) {
        print::line(styled!("{machine} (machine)"));
    }
    if let Some(alarm) = answer.get("alarm").and_then(Json::as_str) {
        print::line(styled!("alarm: {alarm}"));
    }
}

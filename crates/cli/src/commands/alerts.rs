//! `trackside alerts`: list, acknowledge and resolve alerts.

use trackside_protocol::Attend;

use crate::args::{AlertsArgs, AlertsCommand, AttendArgs};
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::TextTable;
use crate::time_format::{moment, text};
use crate::url::ApiPath;
use crate::{exit, print};

pub(crate) fn run(args: &AlertsArgs) -> u8 {
    let (outcome, json) = match &args.command {
        None => (list(args), args.list.ask.json),
        Some(AlertsCommand::Acknowledge(args)) => (attend(args, "acknowledge"), args.ask.json),
        Some(AlertsCommand::Resolve(args)) => (attend(args, "resolve"), args.ask.json),
    };
    refused::finish(outcome, CommandSubject::default(), json)
}

fn list(args: &AlertsArgs) -> Result<u8, RequestError> {
    let much = ListSize::new(args.list.limit.map(|it| it as usize), args.list.all);
    let mut route = ApiPath::new(&["alerts"]);
    if args.resolved {
        route = route.with("all", true);
    }
    let found = fetch_list(&ServerConnection::find(&args.list.ask.reach)?, &route, much)?;
    if args.list.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message(if args.resolved { "no alerts" } else { "no open alerts" });
        return Ok(exit::DONE);
    }
    let mut table = TextTable::new(&["ID", "SINCE", "SEVERITY", "KIND", "OF", "SAYS", "SEEN BY"]);
    for it in &found.items {
        let seen = match (text(it, "resolvedBy"), text(it, "acknowledgedBy")) {
            ("", "") => "-".to_owned(),
            ("", by) => by.to_owned(),
            (by, _) => format!("resolved by {by}"),
        };
        table.row([
            text(it, "alertId").to_owned(),
            moment(text(it, "since")),
            text(it, "severity").to_owned(),
            text(it, "kind").to_owned(),
            format!("{}/{}", text(it, "lifecycle"), text(it, "id")),
            text(it, "message").to_owned(),
            seen,
        ]);
    }
    table.show();
    found.tell_more();
    Ok(exit::DONE)
}

fn attend(args: &AttendArgs, how: &str) -> Result<u8, RequestError> {
    let body = Attend { note: args.note.clone() };
    let answer =
        ServerConnection::find(&args.ask.reach)?.post(&ApiPath::new(&["alerts", &args.id, how]), &body)?;
    if args.ask.json {
        print::line(&format!("{answer:#}"));
        return Ok(exit::DONE);
    }
    let alert = answer.get("alert").cloned().unwrap_or_default();
    let word = format!("{how}d");
    let (by, at) = (text(&alert, &format!("{word}By")), text(&alert, &format!("{word}At")));
    let before = match answer.get("changed").and_then(serde_json::Value::as_bool) {
        Some(false) => " before",
        _ => "",
    };
    print::message(&format!("alert {} was {word}{before} by {by} at {}", args.id, moment(at)));
    Ok(exit::DONE)
}

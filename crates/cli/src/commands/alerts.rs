//! `trackside alerts`: list, acknowledge and resolve alerts.

use serde_json::Value as Json;
use trackside_protocol::AlertNote;

use crate::args::{AlertUpdateArgs, AlertsArgs, AlertsCommand, NoticesArgs};
use crate::paging::fetch_list;
use crate::print;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{entity_of, moment, text};
use crate::url::ApiPath;

pub(crate) fn run(args: &AlertsArgs) -> u8 {
    let (outcome, json) = match &args.command {
        None => (list(&args.list, args.resolved), args.list.ask.json),
        Some(AlertsCommand::List(args)) => (list(&args.list, args.resolved), args.list.ask.json),
        Some(AlertsCommand::Acknowledge(args)) => (update_alert(args, "acknowledge"), args.ask.json),
        Some(AlertsCommand::Resolve(args)) => (update_alert(args, "resolve"), args.ask.json),
    };
    refused::finish(outcome, CommandSubject::default(), json)
}

fn list(args: &NoticesArgs, with_resolved: bool) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["alerts"]).with_some("all", with_resolved.then_some(true));
    let found = fetch_list(&ServerConnection::find(&args.ask.reach)?, &route, &args.page)?;
    let none = if with_resolved { "no alerts" } else { "no open alerts" };
    Ok(found.print(args.ask.json, none, show))
}

fn show(alerts: &[Json]) {
    print_table(["ID", "SINCE", "SEVERITY", "KIND", "OF", "SAYS", "SEEN BY"], alerts, |it| {
        let seen = match (text(it, "resolvedBy"), text(it, "acknowledgedBy")) {
            ("", "") => "-".to_owned(),
            ("", by) => by.to_owned(),
            (by, _) => format!("resolved by {by}"),
        };
        [
            text(it, "alertId").to_owned(),
            moment(text(it, "since")),
            text(it, "severity").to_owned(),
            text(it, "kind").to_owned(),
            entity_of(it),
            text(it, "message").to_owned(),
            seen,
        ]
    });
}

fn update_alert(args: &AlertUpdateArgs, how: &str) -> Result<u8, RequestError> {
    let body = AlertNote { note: args.note.clone() };
    let answer =
        ServerConnection::find(&args.ask.reach)?.post(&ApiPath::new(&["alerts", &args.id, how]), &body)?;
    Ok(print::answer(&answer, args.ask.json, |answer| {
        let alert = answer.get("alert").unwrap_or(&Json::Null);
        let word = format!("{how}d");
        let (by, at) = (text(alert, &format!("{word}By")), text(alert, &format!("{word}At")));
        let before = if answer.get("changed") == Some(&Json::Bool(false)) { " before" } else { "" };
        print::message(styled!("alert {} was {word}{before} by {by} at {}", args.id, moment(at)));
    }))
}

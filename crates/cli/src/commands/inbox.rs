//! `trackside inbox`: what waits for the caller, and decisions about it.

use serde::Deserialize as _;
use serde_json::Value as Json;
use trackside_protocol::{AlertNote, Decide, MovedReply, TransitionBody};

use crate::args::{InboxAckArgs, InboxArgs, InboxCommand, InboxDecisionArgs, NoticesArgs};
use crate::folder::CliError;
use crate::paging::{ListSize, fetch_list};
use crate::print::{Colour, painted_data};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{entity_of, is_true, list as listed, moment, number, text, texts};
use crate::url::ApiPath;
use crate::{exit, print, print_transition, values};

pub(crate) fn run(args: &InboxArgs) -> u8 {
    let (outcome, json) = match &args.command {
        None => (list(args), args.list.ask.json),
        Some(InboxCommand::Approve(args)) => (decide(args, "approve"), args.ask.json),
        Some(InboxCommand::Deny(args)) => (decide(args, "deny"), args.ask.json),
        Some(InboxCommand::Ack(args)) => (acknowledge(args), args.ask.json),
    };
    refused::finish(outcome, CommandSubject::default().with_options(&["note", "to"]), json)
}

fn list(args: &InboxArgs) -> Result<u8, RequestError> {
    let NoticesArgs { page, ask } = &args.list;
    let route = ApiPath::new(&["inbox"]).with_some("kind", args.kind.as_ref());
    let found = fetch_list(&ServerConnection::find(&ask.reach)?, &route, page)?;
    let code = found.print(ask.json, "nothing waits for you", show);
    if !ask.json && is_true(&found.first, "more") {
        print::message("there is more, which is listed when some of this is decided");
    }
    Ok(if args.check && !found.items.is_empty() { exit::REFUSED } else { code })
}

fn show(items: &[Json]) {
    for it in items {
        let severity = match text(it, "severity") {
            "info" => String::new(),
            severity => format!(", {severity}"),
        };
        let head = painted_data(text(it, "headline"), Colour::Bold);
        print::line(styled!("{:>5}  {head}", number(it, "number")));
        let (kind, since) = (text(it, "kind"), moment(text(it, "since")));
        print::line(styled!("       {kind} of {}, since {since}{severity}", entity_of(it)));
        if let Some(otherwise) = it.get("otherwise").filter(|it| !it.is_null()) {
            let to = match texts(otherwise, "to") {
                to if to.is_empty() => String::new(),
                to => format!(", which leads to {}", to.join(" or ")),
            };
            let (event, at) = (text(otherwise, "event"), moment(text(otherwise, "at")));
            print::line(styled!("       otherwise: {event} at {at}{to}"));
        }
        for action in listed(it, "actions") {
            print::line(styled!("       {}: {}", text(action, "label"), text(action, "command")));
        }
    }
}

/// Approves or denies the item with this number.
fn decide(args: &InboxDecisionArgs, decision: &str) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let item = find(&server, args.number)?;
    let actions = listed(&item, "actions");
    let Some(action) = actions.iter().find(|it| text(it, "decision") == decision) else {
        return Err(no_decision(&item, actions, decision).into());
    };
    let (lifecycle, id) = (text(&item, "lifecycle"), text(&item, "id"));
    let answer = if args.fields.is_empty() {
        let body = Decide {
            decision: decision.to_owned(),
            note: args.note.clone(),
            to: args.to.clone(),
            lifecycle: Some(lifecycle.to_owned()),
        };
        server.post(&ApiPath::new(&["approvals", id, "decision"]), &body)?
    } else {
        let body = TransitionBody {
            to: None,
            event: Some(text(action, "event").to_owned()),
            fields: values::to_send(&args.fields)?,
            reason: args.note.clone(),
            fence: None,
        };
        server.post(&ApiPath::new(&["entities", lifecycle, id, "transitions"]), &body)?
    };
    Ok(print::answer(&answer, args.ask.json, |answer| match MovedReply::deserialize(answer) {
        Ok(it) => print_transition::print(&it),
        Err(_) => print::message("done"),
    }))
}

fn acknowledge(args: &InboxAckArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let item = find(&server, args.number)?;
    if text(&item, "kind") != "alert" {
        let why = format!(
            "item {} is not an alert. Act on it with one of the commands that `trackside inbox` shows",
            args.number
        );
        return Err(CliError::usage(why).into());
    }
    let body = AlertNote { note: args.note.clone() };
    let answer = server.post(&ApiPath::new(&["alerts", &args.number.to_string(), "acknowledge"]), &body)?;
    Ok(print::answer(&answer, args.ask.json, |_| {
        print::message(styled!("alert {} was acknowledged", args.number));
    }))
}

/// The item with this number, if it still waits.
fn find(server: &ServerConnection, wanted: u64) -> Result<Json, RequestError> {
    let route = ApiPath::new(&["inbox"]).with("number", wanted.to_string());
    let found = fetch_list(server, &route, ListSize::All)?;
    found.items.into_iter().find(|it| number(it, "number") == wanted).ok_or_else(|| {
        let why = format!(
            "nothing with the number {wanted} waits for you: it may be decided. List what waits with: trackside inbox"
        );
        CliError::refused(why).into()
    })
}

fn no_decision(item: &Json, actions: &[Json], decision: &str) -> CliError {
    let commands: Vec<&str> = actions.iter().map(|it| text(it, "command")).collect();
    CliError::usage(format!(
        "{} has no transition to {decision} in its state. You can: {}",
        entity_of(item),
        commands.join("; ")
    ))
}

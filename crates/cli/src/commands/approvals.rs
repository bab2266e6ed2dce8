//! `trackside approvals`: lists open requests, and records decisions.

use serde::Deserialize as _;
use serde_json::Value as Json;
use trackside_protocol::{Decide, MovedReply};

use crate::args::{ApprovalsArgs, ApprovalsCommand, DecideArgs, NoticesArgs};
use crate::paging::fetch_list;
use crate::print::{Colour, painted_data};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{is_true, moment, places, text};
use crate::url::ApiPath;
use crate::{print, print_transition};

pub(crate) fn run(args: &ApprovalsArgs) -> u8 {
    let (outcome, json) = match &args.command {
        None => (list(&args.list), args.list.ask.json),
        Some(ApprovalsCommand::List(args)) => (list(args), args.ask.json),
        Some(ApprovalsCommand::Approve(args)) => (decide(args, "approve"), args.ask.json),
        Some(ApprovalsCommand::Deny(args)) => (decide(args, "deny"), args.ask.json),
    };
    refused::finish(outcome, CommandSubject::default().with_options(&["note", "to"]), json)
}

fn list(args: &NoticesArgs) -> Result<u8, RequestError> {
    let NoticesArgs { page, ask } = args;
    let found = fetch_list(&ServerConnection::find(&ask.reach)?, &ApiPath::new(&["approvals"]), page)?;
    let code = found.print(ask.json, "no open requests", show);
    if !ask.json && !found.items.is_empty() {
        print::message("decide with: trackside approvals approve|deny ID --note TEXT");
    }
    Ok(code)
}

fn show(requests: &[Json]) {
    for it in requests {
        let urgent = if is_true(it, "urgent") { ", urgent" } else { "" };
        let (of, since) = (text(it, "lifecycle"), moment(text(it, "createdAt")));
        print::line(styled!("{} ({of}), since {since}{urgent}", painted_data(text(it, "id"), Colour::Bold)));
        let held = it.get("fields").map(places).unwrap_or_default();
        held.iter().for_each(|it| print::line(styled!("  {it}")));
    }
}

fn decide(args: &DecideArgs, decision: &str) -> Result<u8, RequestError> {
    let body = Decide {
        decision: decision.to_owned(),
        note: args.note.clone(),
        to: args.to.clone(),
        lifecycle: args.lifecycle.clone(),
    };
    let answer = ServerConnection::find(&args.ask.reach)?
        .post(&ApiPath::new(&["approvals", &args.id, "decision"]), &body)?;
    Ok(print::answer(&answer, args.ask.json, |answer| match MovedReply::deserialize(answer) {
        Ok(it) => print_transition::print(&it),
        Err(_) => print::message("done"),
    }))
}

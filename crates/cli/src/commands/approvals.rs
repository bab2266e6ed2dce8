//! `trackside approvals`: lists open requests, and records decisions.

use serde_json::Value as Json;
use trackside_protocol::Decide;

use crate::args::{ApprovalsArgs, ApprovalsCommand, DecideArgs};
use crate::paging::{ListSize, fetch_list};
use crate::print::{Colour, painted_data};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{moment, places, text};
use crate::url::ApiPath;
use crate::{exit, print, print_transition};

pub(crate) fn run(args: &ApprovalsArgs) -> u8 {
    let (outcome, json) = match &args.command {
        None => (list(args), args.list.ask.json),
        Some(ApprovalsCommand::Approve(args)) => (decide(args, "approve"), args.ask.json),
        Some(ApprovalsCommand::Deny(args)) => (decide(args, "deny"), args.ask.json),
    };
    refused::finish(outcome, CommandSubject::default().with_options(&["note", "to"]), json)
}

fn list(args: &ApprovalsArgs) -> Result<u8, RequestError> {
    let much = ListSize::new(args.list.limit.map(|it| it as usize), args.list.all);
    let found =
        fetch_list(&ServerConnection::find(&args.list.ask.reach)?, &ApiPath::new(&["approvals"]), much)?;
    if args.list.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message("no open requests");
        return Ok(exit::DONE);
    }
    for it in &found.items {
        let urgent = if it.get("urgent") == Some(&Json::Bool(true)) { ", urgent" } else { "" };
        let (of, since) = (text(it, "lifecycle"), moment(text(it, "createdAt")));
        print::line(&format!("{} ({of}), since {since}{urgent}", painted_data(text(it, "id"), Colour::Bold)));
        let held = it.get("fields").map(places).unwrap_or_default();
        held.iter().for_each(|it| print::line(&format!("  {it}")));
    }
    found.tell_more();
    print::message("decide with: trackside approvals approve|deny ID --note TEXT");
    Ok(exit::DONE)
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
    if args.ask.json {
        print::line(&format!("{answer:#}"));
        return Ok(exit::DONE);
    }
    match serde_json::from_value(answer) {
        Ok(it) => print_transition::print(&it),
        Err(_) => print::message("done"),
    }
    Ok(exit::DONE)
}

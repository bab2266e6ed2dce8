//! `trackside approvals`: what waits for a person, and people who decide.

use serde_json::Value as Json;
use trackside_protocol::Decide;

use crate::args::{ApprovalsArgs, ApprovalsCommand, DecideArgs};
use crate::listed::{Much, listed};
use crate::moment::{moment, text, value};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::table::Table;
use crate::{exit, moved, print};

pub(crate) fn run(args: &ApprovalsArgs) -> u8 {
    let (outcome, json) = match &args.command {
        None => (list(args), args.list.ask.json),
        Some(ApprovalsCommand::Approve(args)) => (decide(args, "approve"), args.ask.json),
        Some(ApprovalsCommand::Deny(args)) => (decide(args, "deny"), args.ask.json),
    };
    refused::ended(outcome, About::default(), json)
}

fn list(args: &ApprovalsArgs) -> Result<u8, Unanswered> {
    let much = Much::new(args.list.limit.map(|it| it as usize), args.list.all);
    let found = listed(&Server::find(&args.list.ask.reach)?, &Route::new(&["approvals"]), much)?;
    if args.list.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message("nothing waits for a decision");
        return Ok(exit::DONE);
    }
    let mut table = Table::new(&["ID", "OF", "SINCE", "URGENT", "SAYS"]);
    for it in &found.items {
        let urgent = it.get("urgent") == Some(&Json::Bool(true));
        table.row([
            text(it, "id").to_owned(),
            text(it, "lifecycle").to_owned(),
            moment(text(it, "createdAt")),
            if urgent { "yes" } else { "-" }.to_owned(),
            said(it),
        ]);
    }
    table.show();
    found.tell_more();
    print::message("decide with: trackside approvals approve|deny ID --note TEXT");
    Ok(exit::DONE)
}

/// What a request holds, in one line.
fn said(request: &Json) -> String {
    let fields = request.get("fields").and_then(Json::as_object);
    let shown = fields.into_iter().flatten().filter(|(_, it)| it.is_string() || it.is_number());
    shown.map(|(name, it)| format!("{name}: {}", value(it))).collect::<Vec<_>>().join("; ")
}

fn decide(args: &DecideArgs, decision: &str) -> Result<u8, Unanswered> {
    let body = Decide {
        decision: decision.to_owned(),
        note: args.note.clone(),
        to: args.to.clone(),
        lifecycle: args.lifecycle.clone(),
    };
    let told =
        Server::find(&args.ask.reach)?.post(&Route::new(&["approvals", &args.id, "decision"]), &body)?;
    if args.ask.json {
        print::line(&format!("{told:#}"));
        return Ok(exit::DONE);
    }
    match serde_json::from_value(told) {
        Ok(it) => moved::tell(&it),
        Err(_) => print::message("done"),
    }
    Ok(exit::DONE)
}

//! `trackside token`: creates, lists and revokes tokens.

use trackside_protocol::NewToken;

use crate::args::{TokenArgs, TokenCommand, TokenCreateArgs, TokenListArgs, TokenRevokeArgs};
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::TextTable;
use crate::time_format::{moment, text, texts};
use crate::url::ApiPath;
use crate::{exit, print};

pub(crate) fn run(args: &TokenArgs) -> u8 {
    let (outcome, json) = match &args.command {
        TokenCommand::Create(args) => (create(args), args.ask.json),
        TokenCommand::List(args) => (list(args), args.ask.json),
        TokenCommand::Revoke(args) => (revoke(args), false),
    };
    refused::finish(outcome, CommandSubject::default(), json)
}

fn create(args: &TokenCreateArgs) -> Result<u8, RequestError> {
    let body = NewToken {
        actor: args.actor.clone(),
        kind: args.kind.as_str().to_owned(),
        roles: args.role.clone(),
        on_behalf: args.on_behalf.clone(),
        lifetime: args.lifetime.clone(),
        note: args.note.clone(),
    };
    let made = ServerConnection::find(&args.ask.reach)?.post(&ApiPath::new(&["tokens"]), &body)?;
    if args.ask.json {
        print::line(&format!("{made:#}"));
        return Ok(exit::DONE);
    }
    print::line(text(&made, "token"));
    let details = made.get("details").cloned().unwrap_or_default();
    let until = match text(&details, "expiresAt") {
        "" => "until it is revoked".to_owned(),
        until => format!("until {}", moment(until)),
    };
    print::message(&format!(
        "token {} of {}, valid {until}. It is not shown again",
        text(&details, "id"),
        args.actor
    ));
    if !text(&made, "shortened").is_empty() {
        print::message(&format!("The lifetime is shorter than requested: {}", text(&made, "shortened")));
    }
    Ok(exit::DONE)
}

fn list(args: &TokenListArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let mut found = fetch_list(&server, &ApiPath::new(&["tokens"]), ListSize::All)?;
    if !args.ended {
        found.items.retain(|it| text(it, "state") == LIVE);
    }
    if args.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    let mut table =
        TextTable::new(&["ID", "ACTOR", "KIND", "ROLES", "FOR", "PURPOSE", "IS", "UNTIL", "NOTE"]);
    for it in &found.items {
        let joined = |name: &str| match texts(it, name) {
            some if some.is_empty() => "-".to_owned(),
            some => some.join(", "),
        };
        let until = Some(text(it, "expiresAt")).filter(|it| !it.is_empty()).map(moment);
        table.row([
            text(it, "id").to_owned(),
            text(it, "actor").to_owned(),
            text(it, "kind").to_owned(),
            joined("roles"),
            joined("for"),
            text(it, "purpose").to_owned(),
            text(it, "state").to_owned(),
            until.unwrap_or_else(|| "-".to_owned()),
            text(it, "note").to_owned(),
        ]);
    }
    table.show();
    Ok(exit::DONE)
}

/// The state of a token that is good, in the server's own lifecycle of tokens.
const LIVE: &str = "VALID";

fn revoke(args: &TokenRevokeArgs) -> Result<u8, RequestError> {
    ServerConnection::find(&args.reach)?.delete(&ApiPath::new(&["tokens", &args.id]))?;
    print::message(&format!("token {} is revoked", args.id));
    Ok(exit::DONE)
}

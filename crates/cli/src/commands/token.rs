//! `trackside token`: creates, lists and revokes tokens.

use serde_json::Value as Json;
use trackside_protocol::NewToken;

use crate::args::{
    TokenArgs, TokenCommand, TokenCreateArgs, TokenListArgs, TokenRevokeArgs, TokenRotateArgs,
};
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{self, joined, moment, moment_at, text};
use crate::url::ApiPath;
use crate::{exit, owner_credential, print};

pub(crate) fn run(args: &TokenArgs) -> u8 {
    let (outcome, json) = match &args.command {
        TokenCommand::Create(args) => (create(args), args.ask.json),
        TokenCommand::List(args) => (list(args), args.ask.json),
        TokenCommand::Revoke(args) => (revoke(args), false),
        TokenCommand::Rotate(args) => (rotate(args), args.ask.json),
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
        ..NewToken::default()
    };
    let made = ServerConnection::find(&args.ask.reach)?.post(&ApiPath::new(&["tokens"]), &body)?;
    Ok(print::answer(&made, args.ask.json, |made| {
        print::line(text(made, "token"));
        let details = made.get("details").unwrap_or(&Json::Null);
        let (id, until) = (text(details, "id"), until(details));
        print::message(styled!("token {id} of {}, valid {until}. It is not shown again", args.actor));
        if !text(made, "shortened").is_empty() {
            print::message(styled!("The lifetime is shorter than requested: {}", text(made, "shortened")));
        }
    }))
}

fn list(args: &TokenListArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let mut found = fetch_list(&server, &ApiPath::new(&["tokens"]), ListSize::All)?;
    if !args.ended {
        found.items.retain(|it| text(it, "state") == LIVE);
    }
    Ok(print::answer(&found.to_json(), args.ask.json, show))
}

fn show(found: &Json) {
    let headings = ["ID", "ACTOR", "KIND", "ROLES", "FOR", "PURPOSE", "IS", "UNTIL", "NOTE"];
    print_table(headings, time_format::list(found, "items"), |it| {
        [
            text(it, "id").to_owned(),
            text(it, "actor").to_owned(),
            text(it, "kind").to_owned(),
            joined(it, "roles"),
            joined(it, "for"),
            text(it, "purpose").to_owned(),
            text(it, "state").to_owned(),
            moment_at(it, "expiresAt"),
            text(it, "note").to_owned(),
        ]
    });
}

/// The state of a token that is good, in the server's own lifecycle of tokens.
const LIVE: &str = "VALID";

fn revoke(args: &TokenRevokeArgs) -> Result<u8, RequestError> {
    ServerConnection::find(&args.reach)?.delete(&ApiPath::new(&["tokens", &args.id]))?;
    print::message(styled!("token {} is revoked", args.id));
    Ok(exit::DONE)
}

fn rotate(args: &TokenRotateArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    if let Some(pinned) = server.owner() {
        let (_, made) = owner_credential::rotate(&server, pinned, &[])?;
        // Its text is only in its file.
        let details = serde_json::to_value(&made.details).unwrap_or_default();
        return Ok(print::answer(&details, args.ask.json, |details| {
            let file = pinned.path().unwrap_or_default();
            print::message(styled!("The owner's credential is replaced in {}", file.display()));
            print::message(styled!("  valid      {}", until(details)));
            print::message("  the earlier one ends soon, see the setting replacedLifetime of access");
        }));
    }
    let made = server.post(&ApiPath::new(&["tokens", "rotate"]), &Json::Null)?;
    Ok(print::answer(&made, args.ask.json, |made| {
        print::line(text(made, "token"));
        let details = made.get("details").unwrap_or(&Json::Null);
        let (id, earlier) = (text(details, "id"), text(details, "mintedWith"));
        print::message(styled!("token {id}, valid {}. It is not shown again", until(details)));
        print::message(styled!(
            "{earlier} stays valid. When you no longer use it: trackside token revoke {earlier}"
        ));
    }))
}

/// How long a token is valid.
fn until(details: &Json) -> String {
    match text(details, "expiresAt") {
        "" => "until it is revoked".to_owned(),
        until => format!("until {}", moment(until)),
    }
}

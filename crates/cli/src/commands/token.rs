//! `trackside token`: who may speak to the server.

use trackside_protocol::NewToken;

use crate::args::{TokenArgs, TokenCommand, TokenCreateArgs, TokenListArgs, TokenRevokeArgs};
use crate::listed::{Much, listed};
use crate::moment::{moment, text, texts};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::table::Table;
use crate::{exit, print};

pub(crate) fn run(args: &TokenArgs) -> u8 {
    let (outcome, json) = match &args.command {
        TokenCommand::Create(args) => (create(args), args.ask.json),
        TokenCommand::List(args) => (list(args), args.ask.json),
        TokenCommand::Revoke(args) => (revoke(args), false),
    };
    refused::ended(outcome, About::default(), json)
}

fn create(args: &TokenCreateArgs) -> Result<u8, Unanswered> {
    let body = NewToken {
        actor: args.actor.clone(),
        kind: args.kind.as_str().to_owned(),
        roles: args.role.clone(),
        on_behalf: args.on_behalf.clone(),
        lifetime: args.lifetime.clone(),
        note: args.note.clone(),
    };
    let made = Server::find(&args.ask.reach)?.post(&Route::new(&["tokens"]), &body)?;
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
        "token {} of {}, good {until}. It is not shown again",
        text(&details, "id"),
        args.actor
    ));
    if !text(&made, "shortened").is_empty() {
        print::message(&format!("It is shorter than you wanted: {}", text(&made, "shortened")));
    }
    Ok(exit::DONE)
}

fn list(args: &TokenListArgs) -> Result<u8, Unanswered> {
    let server = Server::find(&args.ask.reach)?;
    let mut found = listed(&server, &Route::new(&["tokens"]), Much::All)?;
    if !args.ended {
        found.items.retain(|it| text(it, "state") == LIVE);
    }
    if args.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    let mut table = Table::new(&["ID", "ACTOR", "KIND", "ROLES", "FOR", "PURPOSE", "IS", "UNTIL", "NOTE"]);
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

fn revoke(args: &TokenRevokeArgs) -> Result<u8, Unanswered> {
    Server::find(&args.reach)?.delete(&Route::new(&["tokens", &args.id]))?;
    print::message(&format!("token {} is good no more", args.id));
    Ok(exit::DONE)
}

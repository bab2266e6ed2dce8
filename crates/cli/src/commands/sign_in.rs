//! `trackside sign-in`: a way in for a person, once.

use trackside_protocol::NewLink;

use crate::args::SignInArgs;
use crate::moment::{moment, text};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{exit, print};

pub(crate) fn run(args: &SignInArgs) -> u8 {
    refused::ended(link(args), About::default(), args.ask.json)
}

fn link(args: &SignInArgs) -> Result<u8, Unanswered> {
    let body = NewLink { actor: args.actor.clone(), roles: args.role.clone() };
    let made = Server::find(&args.ask.reach)?.post(&Route::new(&["sign-in-links"]), &body)?;
    if args.ask.json {
        print::line(&format!("{made:#}"));
        return Ok(exit::DONE);
    }
    print::line(text(&made, "url"));
    let until = match text(&made, "expiresAt") {
        "" => String::new(),
        until => format!(", until {}", moment(until)),
    };
    print::message(&format!("works once{until}"));
    Ok(exit::DONE)
}

//! `trackside sign-in`: a way in for a person, once.

use trackside_protocol::NewLink;

use crate::args::SignInArgs;
use crate::print;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{moment, text};
use crate::url::ApiPath;

pub(crate) fn run(args: &SignInArgs) -> u8 {
    refused::finish(link(args), CommandSubject::default(), args.ask.json)
}

fn link(args: &SignInArgs) -> Result<u8, RequestError> {
    let body = NewLink { actor: args.actor.clone(), roles: args.role.clone() };
    let made = ServerConnection::find(&args.ask.reach)?.post(&ApiPath::new(&["sign-in-links"]), &body)?;
    Ok(print::answer(&made, args.ask.json, |made| {
        print::line(text(made, "url"));
        let until = match text(made, "expiresAt") {
            "" => String::new(),
            until => format!(", until {}", moment(until)),
        };
        print::message(styled!("works once{until}"));
    }))
}

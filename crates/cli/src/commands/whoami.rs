//! `trackside whoami`: the identity of your token.

use crate::args::WhoamiArgs;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{moment, text, texts};
use crate::url::ApiPath;
use crate::{exit, print};

pub(crate) fn run(args: &WhoamiArgs) -> u8 {
    refused::finish(whoami(args), CommandSubject::default(), args.ask.json)
}

fn whoami(args: &WhoamiArgs) -> Result<u8, RequestError> {
    let who = ServerConnection::find(&args.ask.reach)?.get(&ApiPath::new(&["whoami"]))?;
    if args.ask.json {
        print::line(&format!("{who:#}"));
        return Ok(exit::DONE);
    }
    let roles = texts(&who, "roles");
    let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
    print::line(&format!("{} ({}), {roles}", text(&who, "actor"), text(&who, "kind")));
    let on_behalf = texts(&who, "for");
    if !on_behalf.is_empty() {
        print::line(&format!("can act for {}", on_behalf.join(", ")));
    }
    match text(&who, "expiresAt") {
        "" => {}
        until => print::line(&format!("token valid until {}", moment(until))),
    }
    Ok(exit::DONE)
}

//! `trackside whoami`: the identity of your token.

use serde_json::Value as Json;

use crate::args::WhoamiArgs;
use crate::print;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{moment, text, texts};
use crate::url::ApiPath;

pub(crate) fn run(args: &WhoamiArgs) -> u8 {
    refused::finish(whoami(args), CommandSubject::default(), args.ask.json)
}

fn whoami(args: &WhoamiArgs) -> Result<u8, RequestError> {
    let who = ServerConnection::find(&args.ask.reach)?.get(&ApiPath::new(&["whoami"]))?;
    Ok(print::answer(&who, args.ask.json, show))
}

fn show(who: &Json) {
    let roles = texts(who, "roles");
    let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
    print::line(styled!("{} ({}), {roles}", text(who, "actor"), text(who, "kind")));
    let on_behalf = texts(who, "for");
    if !on_behalf.is_empty() {
        print::line(styled!("can act for {}", on_behalf.join(", ")));
    }
    match text(who, "expiresAt") {
        "" => {}
        until => print::line(styled!("token valid until {}", moment(until))),
    }
}
